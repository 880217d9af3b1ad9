/// Follows redirects as RFC 9110 (15.4) says, and sends no secrets to another origin.
struct Redirects: Layer {
    /// More than 10 redirects are a mistake of the server.
    private static let limit = 10
    /// The longest target that is followed, in bytes. It is longer than what common servers accept in a request.
    private static let longestLocation = 64 << 10

    /// The secret names, including the user's own: a header with such a name goes to no other origin, even if it is
    /// listed as harmless.
    let secretNames: SecretNames
    let boundary: OriginBoundary
    let cleartext: CleartextRule

    func intercept(_ request: HTTPRequest, _ context: CallContext, next: @escaping Next) async throws(ServiceError)
        -> HTTPResponse
    {
        let response = try await next(request, context)
        guard response.isRedirect, !context.rules.redirects.followsNone else { return response }
        return try await follow(response, to: request, context, next: next)
    }

    private func follow(
        _ first: HTTPResponse, to request: HTTPRequest, _ context: CallContext, next: @escaping Next
    ) async throws(ServiceError) -> HTTPResponse {
        var response = first
        var hop = context
        // The calls in the limiter's queue may be waiting for this one.
        (hop.isUrgent, hop.isRedirected) = (true, true)
        var (current, visited) = (request, Set<String>())
        while response.isRedirect {
            visited.insert(hop.key(of: current))
            let source = response.source ?? current.url
            hop.isBound = response.provenance.leadsToServer
            // Of what was sent, a server may repeat anything in the target.
            let redactor = context.transmission.redactor(secretNames)
            var following: HTTPRequest
            do throws(Unfollowed) {
                following = try self.request(following: response, to: current, at: source, hiding: redactor)
                guard !visited.contains(hop.key(of: following)) else {
                    throw Unfollowed("it leads back to a URL that was already requested")
                }
                guard visited.count <= Self.limit else {
                    throw Unfollowed("the limit of \(Self.limit) redirects was reached")
                }
            } catch {
                throw response.unfollowed(error.reason, hiding: redactor)
            }
            following.url = following.url.shown(by: redactor)
            let redirect = Redirect(
                status: response.status, method: following.method, source: source, target: following.url,
                number: visited.count)
            guard context.rules.redirects.follows(redirect) else { return response }
            let reach = context.transmission.settings.eventIDReach
            let (origin, own) = (following.url.origin, request.url.origin)
            if reach.includes(origin, from: current.url.origin, ofEndpointAt: own),
                !secretNames.contains(Self.eventID, in: .header)
            {
                following.headers[Self.eventID] = request.headers[Self.eventID]
            }
            context.transmission.report(.redirected(response.status, to: following.url.description))
            hop.hasLeftOrigin =
                hop.hasLeftOrigin || !boundary.connects(request.url.origin, following.url.origin)
            current = following
            response = try await next(current, hop)
            var provenance = response.provenance
            provenance.redirectedTo = provenance.sentTo ?? current.url
            provenance.hasLeftOrigin = hop.hasLeftOrigin
            response.provenance = provenance
        }
        return response
    }

    /// The identifier of an event stream's last event, which goes along to the origin that it came from.
    private static let eventID = "Last-Event-ID"

    private func request(
        following response: HTTPResponse, to request: HTTPRequest, at source: HTTPURL, hiding redactor: Redactor
    ) throws(Unfollowed) -> HTTPRequest {
        guard let location = response.headers["Location"], !location.isEmpty else {
            throw Unfollowed("its Location header is missing or empty")
        }
        guard location.utf8.count <= Self.longestLocation else {
            throw Unfollowed("its Location header is longer than \(Self.longestLocation >> 10) KiB")
        }
        var following = request
        do throws(ServiceError) {
            following.url = try source.resolving(location, hiding: redactor)
        } catch {
            throw Unfollowed(error.detail)
        }
        if source.origin.scheme == "https", following.url.origin.scheme == "http" {
            throw Unfollowed("it leads from https to plain http")
        }
        // Checked here and not only before the next send, where the error would say that nothing was sent.
        if !cleartext.allows(following.url.origin) {
            throw Unfollowed("it leads to \(following.url.origin), which is not encrypted")
        }
        if !boundary.connects(request.url.origin, following.url.origin) {
            following.headers = HTTPHeaders(request.headers.filter(boundary.mayLeave))
        }
        if response.changesMethod(of: request.method) {
            following.method = .get
            following.body = nil
            for name in [
                "Content-Type", "Content-Length", "Content-Encoding", "Content-Language", "Content-Location",
                "Content-Digest", "Repr-Digest",
                // The versions are those of the resource that has been changed.
                "If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "If-Range",
            ] {
                following.headers[name] = nil
            }
        }
        // A body is for the server it was written for: it may contain a password or a refresh token.
        let (old, new) = (request.url.origin, following.url.origin)
        let isEncryptedNow = old.scheme == "http" && new.scheme == "https" && old.host == new.host
        guard following.body == nil || boundary.connects(old, new) || isEncryptedNow else {
            throw Unfollowed("it would send the body to another server")
        }
        guard following.body?.isReplayable ?? true else {
            throw Unfollowed("the body can be sent only once")
        }
        return following
    }
}

extension RedirectPolicy {

    fileprivate func follows(_ redirect: Redirect) -> Bool {
        switch kind {
        case .all: true
        case .never: false
        case .some(let condition): condition(redirect)
        }
    }
}

/// Why a redirect is not followed.
private struct Unfollowed: Error {
    let reason: String

    init(_ reason: String) {
        self.reason = reason
    }
}

extension CallContext {
    /// What identifies a request of a redirect chain. One for a server is another than one for any of them.
    fileprivate func key(of request: HTTPRequest) -> String {
        "\(request.method) \(request.url.absoluteString)\(isBound ? " at that server" : "")"
    }
}

extension HTTPResponse {
    fileprivate var isRedirect: Bool { [301, 302, 303, 307, 308].contains(status) }

    fileprivate func changesMethod(of method: HTTPMethod) -> Bool {
        switch status {
        case 303: method != .head && method != .get
        case 301, 302: method == .post
        default: false
        }
    }

    fileprivate func unfollowed(_ reason: String, hiding redactor: Redactor) -> ServiceError {
        let message = redactor.text("The server's redirect (\(status)) was not followed: \(reason)")
        var headers = headers
        headers.hide(by: redactor)
        return .rejected(Rejection(status: status, message: message, headers: headers))
    }
}
