/// Follows redirects, hop by hop, as RFC 9110 (15.4) says, and takes care that no secret travels along.
struct Redirects: Layer {
    /// More than this is a mistake of the server.
    private static let limit = 10

    let limiter: RateLimiter
    /// Knows the headers that belong to the origin they were meant for: whatever is shown nowhere travels nowhere.
    private let redactor: Redactor

    init(limiter: RateLimiter, secretHeaders: Set<String>) {
        self.limiter = limiter
        redactor = Redactor(headers: secretHeaders)
    }

    func intercept(_ request: HTTPRequest, _ context: CallContext, next: @escaping Next) async throws(ServiceError)
        -> HTTPResponse
    {
        var current = request
        var visited: Set<String> = []
        var hasLeftOrigin = false
        while true {
            var response = try await next(current, context)
            if !visited.isEmpty {
                hasLeftOrigin = hasLeftOrigin || current.url.origin != request.url.origin
                response.redirectedTo = current.url
                response.isToStranger = hasLeftOrigin
            }
            guard [301, 302, 303, 307, 308].contains(response.status) else { return response }
            visited.insert(current.hop)
            let following = try self.request(following: response, to: current)
            if visited.contains(following.hop) { throw response.unfollowed("it leads round in a circle") }
            guard visited.count <= Self.limit else { throw response.unfollowed("there were \(Self.limit) before it") }
            // A server that sends on with 307 or 308 has left the request to another; otherwise it may be done with it.
            if ![307, 308].contains(response.status) { context.call.update { $0.mayHaveActed = true } }
            context.call.tell(.redirected(response.status, to: following.url.description))
            try await limiter.admit(context.call, isUrgent: true)
            current = following
        }
    }

    private func request(following response: HTTPResponse, to request: HTTPRequest) throws(ServiceError) -> HTTPRequest
    {
        guard let location = response.headers["Location"], !location.isEmpty else {
            throw response.unfollowed("it does not say where to")
        }
        var following = request
        do throws(ServiceError) {
            following.url = try request.url.resolving(location)
        } catch {
            throw response.unfollowed(error.description)
        }
        if request.url.origin.scheme == "https", following.url.origin.scheme == "http" {
            throw response.unfollowed("it leads from https to plain http")
        }
        if following.url.origin != request.url.origin {
            for field in request.headers where redactor.isSecret(header: field.name) {
                following.headers[field.name] = nil
            }
        }
        if response.changesMethod(of: request.method) {
            following.method = .get
            following.body = nil
            for name in ["Content-Type", "Content-Length", "Content-Encoding", "Transfer-Encoding"] {
                following.headers[name] = nil
            }
        }
        // A body is for the server that it was written for: a password or a refresh token may stand in one.
        let (old, new) = (request.url.origin, following.url.origin)
        let isEncryptedNow = old.scheme == "http" && new.scheme == "https" && old.host == new.host
        guard following.body == nil || new == old || isEncryptedNow else {
            throw response.unfollowed("it would take the body to another server")
        }
        guard following.body?.isReplayable ?? true else {
            throw response.unfollowed("the body can be sent only once")
        }
        return following
    }
}

extension HTTPRequest {
    /// What makes a hop the same as another.
    fileprivate var hop: String { "\(method) \(url.absoluteString)" }
}

extension HTTPResponse {
    fileprivate func changesMethod(of method: HTTPMethod) -> Bool {
        switch status {
        case 303: method != .head && method != .get
        case 301, 302: method == .post
        default: false
        }
    }

    fileprivate func unfollowed(_ reason: String) -> ServiceError {
        let message = "The server's redirect (\(status)) was not followed: \(reason)"
        return .rejected(Rejection(status: status, message: message, headers: headers))
    }
}
