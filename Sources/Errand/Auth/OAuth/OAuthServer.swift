/// The endpoints of an authorization server, and the clients that call them.
///
/// A client calls one origin, and a server may have endpoints at several, such as `accounts.google.com` and
/// `oauth2.googleapis.com`. So there is one client for each origin that the metadata names; they share a limiter.
struct OAuthServer: Sendable {
    /// An endpoint, and the client that calls it.
    struct Place: Sendable {
        let client: APIClient
        /// The endpoint's path below the client's URL, or its URL.
        let target: Target

        enum Target: Sendable {
            case path(EndpointPath)
            case url(HTTPURL)
        }

        /// The URL; `nil` if the endpoint was given as a path.
        var url: String? { if case .url(let url) = target { url.absoluteString } else { nil } }

        /// Returns a POST of that form, which is not signed and follows no redirect: what another page responds with is
        /// no answer to the secrets that were sent.
        func post<Answer>(_ form: QueryItems, headers: HTTPHeaders) -> Endpoint<Answer> {
            let endpoint: Endpoint<Answer> =
                switch target {
                case .path(let path): .post(path, headers: headers, body: .form(form))
                case .url(let url): Endpoint(.post, url: url.absoluteString, headers: headers, body: .form(form))
                }
            return endpoint.authentication(.none).redirects(.never)
        }

        /// Reports something about an answer to whoever listens to the client.
        func warn(_ text: String) { client.warn(text, about: "POST \(url ?? "token endpoint")") }

        /// Refuses to send secrets unencrypted to another machine that the client does not name; `allowsCleartext` is
        /// not meant for passwords.
        func refuseCleartext() throws(ServiceError) {
            let origin: Origin?
            switch target {
            case .url(let url): origin = url.origin
            // The call reports what is wrong with the URL itself.
            case .path: origin = (try? HTTPURL(client.configuration.environment.baseURL))?.origin
            }
            guard let origin, !client.configuration.cleartext.allowsCredentials(at: origin) else { return }
            let reason = "passwords and secrets are sent over https or to this machine only, not to \(origin)"
            throw .invalidRequest(InvalidRequest(.cleartext, reason))
        }
    }

    let metadata: OAuth.ServerMetadata?
    let time: any TimeSource
    private let given: Place?
    private let clients: [Origin: APIClient]

    /// Creates a server of which only the token endpoint is known.
    init(login: APIClient, tokenPath: EndpointPath) {
        metadata = nil
        time = login.configuration.time
        given = Place(client: login, target: .path(tokenPath))
        clients = [:]
    }

    /// Creates a server with a client for each origin in its metadata.
    init(_ metadata: OAuth.ServerMetadata, for app: OAuth.Client, _ configure: (inout Configuration) -> Void) {
        var configuration = Configuration(ServerEnvironment(name: "authorization server", baseURL: ""))
        // How many users sign in at once, the program decides.
        configuration.rateLimit = .unlimited
        configure(&configuration)
        self.init(metadata, for: app, configuration)
    }

    init(_ metadata: OAuth.ServerMetadata, for app: OAuth.Client, _ configuration: Configuration) {
        let metadata = metadata.endpoints(for: app)
        self.metadata = metadata
        time = configuration.time
        given = nil
        // What is no URL is refused when it is used.
        let origins = Set(metadata.endpoints.compactMap { (try? HTTPURL($0.url))?.origin })
        var configuration = configuration
        if origins.count > 1, configuration.limiter == nil {
            configuration.limiter = RateLimiter(configuration.rateLimit, time: configuration.time)
        }
        clients = Dictionary(
            uniqueKeysWithValues: origins.map { origin in
                (origin, Self.client(of: origin, configuration))
            })
    }

    /// Returns a client for that origin.
    static func client(of origin: Origin, _ configuration: Configuration) -> APIClient {
        var configuration = configuration
        configuration.environment = ServerEnvironment(name: "authorization server", baseURL: origin.description)
        return APIClient(configuration)
    }

    /// Shuts down the clients that were created for the metadata.
    func shutdown() async {
        // All at once: while one waits for a refresh, the others begin no calls.
        await withDiscardingTaskGroup { group in
            for client in clients.values {
                group.addTask { await client.shutdown() }
            }
        }
    }

    /// The token endpoint.
    var token: Place {
        get throws(ServiceError) {
            if let given { return given }
            return try place(of: metadata?.tokenEndpoint, named: "token endpoint")
        }
    }

    /// Returns that endpoint, and its client.
    func place(of url: String?, named name: String) throws(ServiceError) -> Place {
        let url = try self.url(url, named: name)
        guard let client = clients[url.origin] else { throw .badSetting("there is no client of \(url.origin)") }
        return Place(client: client, target: .url(url))
    }

    /// Returns the URL of an endpoint.
    func url(_ url: String?, named name: String) throws(ServiceError) -> HTTPURL {
        guard let url, !url.isEmpty else {
            let advice = metadata == nil ? "; use `OAuth.discover`, or pass an `OAuth.ServerMetadata`" : ""
            throw .badSetting("the authorization server names no \(name)\(advice)")
        }
        return try HTTPURL(url)
    }
}

extension OAuthServer: CustomStringConvertible {
    /// The address of the server.
    var description: String {
        if case .path(let path)? = given?.target { return "\(path), \(given.map { "\($0.client)" } ?? "")" }
        let known = metadata.flatMap { $0.issuer ?? $0.endpoints.first?.url } ?? "no server"
        return Redactor.standard.text(ofURL: known)
    }
}
