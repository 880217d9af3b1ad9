extension OAuth {
    /// Finds the authorization server of an API, from the document that the API publishes (RFC 9728), and the endpoints
    /// of that server.
    ///
    ///     let oauth = try await OAuth.discover(for: "https://api.example.com/v1", client: .public(id: "tool"))
    ///
    /// The document must be about that API, character by character; otherwise this throws `.decodingFailed` with the
    /// path `resource`. If the API names several servers, the first whose own document can be read and is right is
    /// used. If none is, this throws the error of the first. Use this if your app has the same id everywhere, and no
    /// secret; ``discover(for:tokenType:parameters:client:_:)`` has credentials for each server.
    ///
    /// An API may name a server of its own that leads users to the page of another server, and has the code of that one
    /// redeemed at its own token endpoint (RFC 9700, 4.4). So a sign-in in a browser fails with `.invalidRequest`
    /// unless the server promises to name itself in redirects (RFC 9207), and one on another device, unless you trust
    /// the server.
    ///
    /// - Parameters:
    ///   - resource: The https URL of the API, as it names itself. Plain http is accepted on this machine only.
    ///   - client: The app as the servers know it.
    ///   - trustedIssuers: The servers that you trust; none by default.
    ///   - tokenType: The only accepted type of token, `Bearer` by default.
    ///   - parameters: Further parameters of every request, such as a `resource` (RFC 8707) or a tenant.
    ///   - configure: Configures the clients, one for each origin. Their `environment` is replaced.
    public static func discover(
        for resource: String, client: Client, trustedIssuers: Set<String> = [], tokenType: String = "Bearer",
        parameters: QueryItems = [:], _ configure: (inout Configuration) -> Void = { _ in }
    ) async throws(ServiceError) -> OAuth {
        try await discover(
            for: resource, trusting: trustedIssuers, tokenType: tokenType, parameters: parameters,
            client: { _ in client }, configure)
    }

    /// Finds the authorization server of an API, for an app with other credentials at each server.
    ///
    ///     let oauth = try await OAuth.discover(for: "https://api.example.com/v1") { issuer in
    ///         issuer == "https://login.example.com" ? .basic(id: "pins", secret: secret) : nil
    ///     }
    ///
    /// The API says which servers there are, so a secret must go to the server that has issued it, and to no other. A
    /// server for which the closure has credentials is one that you trust: return none for an issuer that you do not
    /// know.
    ///
    /// - Parameters:
    ///   - resource: The https URL of the API, as it names itself. Plain http is accepted on this machine only.
    ///   - tokenType: The only accepted type of token, `Bearer` by default.
    ///   - parameters: Further parameters of every request, such as a `resource` (RFC 8707) or a tenant.
    ///   - client: Returns the app as the server with that issuer knows it; `nil` if it does not know the app. It is
    ///     asked before the server is.
    ///   - configure: Configures the clients, one for each origin. Their `environment` is replaced.
    public static func discover(
        for resource: String, tokenType: String = "Bearer", parameters: QueryItems = [:],
        client: (_ issuer: String) -> Client?, _ configure: (inout Configuration) -> Void = { _ in }
    ) async throws(ServiceError) -> OAuth {
        try await discover(
            for: resource, trusting: nil, tokenType: tokenType, parameters: parameters, client: client, configure)
    }

    /// - Parameter trusted: The servers that the program trusts; `nil` for all.
    private static func discover(
        for resource: String, trusting trusted: Set<String>?, tokenType: String, parameters: QueryItems,
        client: (_ issuer: String) -> Client?, _ configure: (inout Configuration) -> Void
    ) async throws(ServiceError) -> OAuth {
        var configuration = Configuration(ServerEnvironment(name: "API", baseURL: resource))
        configuration.rateLimit = .unlimited
        configure(&configuration)
        let discovery = try ResourceDiscovery(resource, configuration)
        var failure: ServiceError?
        let issuers = try await discovery.issuers()
        for issuer in issuers {
            guard let app = client(issuer) else { continue }
            do throws(ServiceError) {
                let server = try discovery.server(issuer)
                let metadata = try await server.metadata()
                var oauth = OAuth(
                    OAuthServer(metadata, for: app, server.configuration), client: app,
                    tokenType: tokenType, parameters: parameters)
                oauth.isTrusted = trusted?.contains(issuer) ?? true
                return oauth
            } catch {
                if error == .cancelled { throw error }
                failure = failure ?? error
            }
        }
        let known = issuers.map { HTTPSyntax.quoted($0) }.joined(separator: ", ")
        throw failure ?? .badSetting("the app has no credentials for a server of the API; it names \(known)")
    }
}

extension OAuth {
    /// Refuses to sign a user in at a server that only an API has named (RFC 9700, 4.4), unless the answer names the
    /// server.
    func refuseStranger(namingItself: Bool) throws(ServiceError) {
        guard !isTrusted, !namingItself else { return }
        throw .badSetting(
            """
            an API has named the authorization server \(metadata?.issuer ?? "") for a sign-in; it may lead users to \
            the page of another one. If you know it, pass it in `trustedIssuers`
            """)
    }
}

/// Reads the document that an API publishes about itself (RFC 9728).
struct ResourceDiscovery: Sendable {
    /// No API has more servers, and each that is tried is a request.
    private static let mostServers = 10

    private struct Document: Decodable, Sendable {
        var resource: String?
        var servers: [String]?

        private enum CodingKeys: String, CodingKey {
            case resource
            case servers = "authorization_servers"
        }
    }

    private let configuration: Configuration
    private let resource: String
    private let url: HTTPURL

    init(_ resource: String, _ configuration: Configuration) throws(ServiceError) {
        url = try HTTPURL(resource)
        guard !resource.contains("#") else { throw .badURL(resource, "the URL of an API has no fragment") }
        guard !url.origin.isExposed else {
            let reason = "the API \(url.origin) is not encrypted; use https"
            throw .invalidRequest(InvalidRequest(.cleartext, reason))
        }
        self.resource = resource
        var configuration = configuration
        configuration.responseByteLimit = min(configuration.responseByteLimit, Discovery.largestDocument)
        if configuration.limiter == nil {
            configuration.limiter = RateLimiter(configuration.rateLimit, time: configuration.time)
        }
        self.configuration = configuration
    }

    /// The URL of the document: its name stands before the path and the query of the API (RFC 9728, 3.1).
    private var document: String {
        let path = url.path == "/" ? "" : url.path
        let query = url.query.map { "?\($0)" } ?? ""
        return "\(url.origin)/.well-known/oauth-protected-resource\(path)\(query)"
    }

    /// Reads and checks the document. Returns the issuers of the authorization servers, in the API's order.
    func issuers() async throws(ServiceError) -> [String] {
        let client = OAuthServer.client(of: url.origin, configuration)
        let found = try await client.run(Endpoint<Document>.get(url: document).ofPublishedDocument)
        guard found.resource == resource else {
            throw .unlike("resource", asked: resource, found: found.resource)
        }
        guard let servers = found.servers, !servers.isEmpty else {
            throw .unlike("authorization_servers", expected: "an issuer", found: "none")
        }
        return Array(servers.prefix(Self.mostServers))
    }

    /// Returns what reads the document of a server. The document of an API on another machine must not lead to this
    /// one.
    func server(_ issuer: String) throws(ServiceError) -> Discovery {
        let discovery = try Discovery(issuer, configuration)
        guard discovery.url.origin.scheme == "https" || url.origin.scheme == "http" else {
            throw .unlike("authorization_servers", expected: "an https URL", found: issuer)
        }
        return discovery
    }
}
