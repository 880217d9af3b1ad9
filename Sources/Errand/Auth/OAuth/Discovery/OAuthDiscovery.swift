import ErrandJSON

extension OAuth {
    /// Finds the endpoints of an authorization server by its issuer, from the document that it publishes (RFC 8414, or
    /// the discovery of OpenID Connect).
    ///
    ///     let oauth = try await OAuth.discover("https://login.example.com", client: .public(id: "tool"))
    ///
    /// The document is read once and kept with the result. It must name the same issuer, character by character, and
    /// endpoints that are encrypted like it; otherwise this throws `.decodingFailed`, with the name of the member as
    /// the path. A server without a document is `.rejected`, with the status of its first response.
    ///
    /// If you know only the API, let it name the server:
    /// ``discover(for:client:trustedIssuers:tokenType:parameters:_:)``.
    ///
    /// - Parameters:
    ///   - issuer: The issuer, an https URL without a query. Plain http is accepted on this machine only.
    ///   - client: The app as the server knows it.
    ///   - tokenType: The only accepted type of token, `Bearer` by default.
    ///   - parameters: Further parameters of every request, such as an audience or a tenant.
    ///   - configure: Configures the clients of the server, one for each origin. Their `environment` is replaced, and
    ///     they have no rate limit unless you set one.
    public static func discover(
        _ issuer: String, client: Client, tokenType: String = "Bearer", parameters: QueryItems = [:],
        _ configure: (inout Configuration) -> Void = { _ in }
    ) async throws(ServiceError) -> OAuth {
        var configuration = Configuration(ServerEnvironment(name: "authorization server", baseURL: issuer))
        // How many users sign in at once, the program decides.
        configuration.rateLimit = .unlimited
        configure(&configuration)
        let discovery = try Discovery(issuer, configuration)
        let metadata = try await discovery.metadata()
        return OAuth(
            OAuthServer(metadata, for: client, discovery.configuration), client: client, tokenType: tokenType,
            parameters: parameters)
    }
}

/// Reads the document that an authorization server publishes about itself.
struct Discovery: Sendable {
    /// Documents have a few kilobytes; 1 MiB is none.
    static let largestDocument = 1 << 20

    let configuration: Configuration
    private let issuer: String
    let url: HTTPURL

    init(_ issuer: String, _ configuration: Configuration) throws(ServiceError) {
        url = try HTTPURL(issuer)
        guard url.query == nil, !issuer.contains("#") else {
            throw .badURL(issuer, "an issuer has no query and no fragment")
        }
        guard !url.origin.isExposed else {
            let reason = "the issuer \(url.origin) is not encrypted; use https"
            throw .invalidRequest(InvalidRequest(.cleartext, reason))
        }
        self.issuer = issuer
        var configuration = configuration
        configuration.responseByteLimit = min(configuration.responseByteLimit, Self.largestDocument)
        if configuration.limiter == nil {
            configuration.limiter = RateLimiter(configuration.rateLimit, time: configuration.time)
        }
        self.configuration = configuration
    }

    /// The paths of the document: RFC 8414 (3.1) puts its name before the path of the issuer, OpenID Connect after it.
    private var paths: [String] {
        var path = url.path
        while path.hasSuffix("/") { path.removeLast() }
        return ["/.well-known/oauth-authorization-server\(path)", "\(path)/.well-known/openid-configuration"]
    }

    /// Reads and checks the document, at the first path that has one.
    func metadata() async throws(ServiceError) -> OAuth.ServerMetadata {
        let client = OAuthServer.client(of: url.origin, configuration)
        var refusal: ServiceError?
        for path in paths {
            let endpoint = Endpoint<OAuth.ServerMetadata>.get(url: url.origin.description + path)
            do throws(ServiceError) {
                return try check(await client.run(endpoint.ofPublishedDocument))
            } catch {
                guard error.namesNoDocument else { throw error }
                // That of the first path says more, unless there is a page for every path.
                refusal = refusal ?? error
            }
        }
        throw refusal ?? .badSetting("there is no document of \(url.origin)")
    }

    /// Refuses a document that another server has written (RFC 8414, 3.3), or that leads to an endpoint that is less
    /// protected than the issuer.
    private func check(_ metadata: OAuth.ServerMetadata) throws(ServiceError) -> OAuth.ServerMetadata {
        guard let found = metadata.issuer, found == issuer || TenantIssuer.isOfMany(found, asked: issuer) else {
            throw .unlike("issuer", asked: issuer, found: metadata.issuer)
        }
        for (name, text) in metadata.endpoints {
            let endpoint = try? HTTPURL(text)
            guard let endpoint else { throw .unlike(name, expected: "an https URL", found: "no URL") }
            guard endpoint.origin.scheme == url.origin.scheme || endpoint.origin.scheme == "https" else {
                throw .unlike(name, expected: "an https URL", found: "one with \(endpoint.origin.scheme)")
            }
            guard !endpoint.origin.isExposed else {
                throw .unlike(name, expected: "an https URL", found: "\(endpoint.origin), which is not encrypted")
            }
        }
        return metadata
    }
}

extension Endpoint {
    /// The same request, for a document that a server publishes about itself.
    ///
    /// Its members have their own names, whatever the configuration says about those of the user's models. A redirect
    /// to another origin is not followed: only the server itself may say who it is.
    var ofPublishedDocument: Self {
        authentication(.none).decoder(FastJSONDecoder()).redirects(.following { !$0.leavesOrigin })
    }
}

extension ServiceError {
    /// Returns the error for an answer of an authorization server that must not be accepted.
    static func unlike(_ path: String, expected: String, found: String) -> ServiceError {
        let shown = Redactor.standard.beginning(of: found.utf8, length: 200).text
        return .decodingFailed(DecodingFailure(path: path, expected: expected, found: shown))
    }

    /// Returns the error for a document that another server has written, or that is about another one. Identifiers are
    /// compared character by character (RFC 8414, 3.3, and RFC 9728, 3.3).
    static func unlike(_ path: String, asked: String, found: String?) -> ServiceError {
        let error = unlike(path, expected: asked, found: found ?? "nothing")
        guard let found, found + "/" == asked || asked + "/" == found, case .decodingFailed(var failure) = error else {
            return error
        }
        failure.advice.value = "only the slash at the end differs: pass \(failure.found), as the server writes it"
        return .decodingFailed(failure)
    }

    /// Whether a server has no document at that path, or a page for people that it has at every path.
    fileprivate var namesNoDocument: Bool {
        switch self {
        case .rejected: true
        case .decodingFailed(let failure): failure.path.isEmpty && failure.status != nil
        default: false
        }
    }
}
