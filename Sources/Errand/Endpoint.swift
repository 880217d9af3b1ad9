/// A call of a REST API as a plain value: what is sent, by which rules, and what comes back.
///
///     extension Endpoint where Response == [User] {
///         static func friends(of id: User.ID) -> Self {
///             .get("users/\(id)/friends", query: ["sort": "name"]).unwrapping("users")
///         }
///     }
///
/// A client runs it:
///
///     let friends = try await client.run(.friends(of: me.id))
///
/// Making one does nothing and cannot fail. What is wrong with it is found when it is run, before anything is sent.
public struct Endpoint<Response: Decodable & Sendable>: Sendable {
    /// The method.
    public var method: HTTPMethod
    /// The path below the client's base URL.
    public var path: EndpointPath
    /// The query; the client's common parameters come on top.
    public var query: QueryItems
    /// The headers; they win over the client's common ones.
    public var headers: HTTPHeaders
    /// The body, if there is one.
    public var body: RequestBody?
    /// The rules of this call.
    public var options = CallOptions()
    /// The keys below which the response lies in the answer.
    public internal(set) var envelope: [String] = []
    /// A URL that the server has given; it takes the place of the path and the query.
    var target: Target?

    enum Target: Sendable {
        /// The next page of a list.
        case page(HTTPURL)
        /// A URL as it stands in a response, absolute or not.
        case url(String)
    }

    /// Makes an endpoint.
    public init(
        _ method: HTTPMethod, _ path: EndpointPath, query: QueryItems = [:], headers: HTTPHeaders = [:],
        body: RequestBody? = nil
    ) {
        self.method = method
        self.path = path
        self.query = query
        self.headers = headers
        self.body = body
    }

    /// Creates an endpoint for a URL that a response of the server has given.
    ///
    /// The URL may be relative; then it is resolved against the client's base URL. It must belong to the client's own
    /// origin: another one is `.invalidRequest`, and nothing is sent there.
    public init(
        _ method: HTTPMethod, url: String, query: QueryItems = [:], headers: HTTPHeaders = [:],
        body: RequestBody? = nil
    ) {
        self.init(method, EndpointPath(ofURL: url), query: query, headers: headers, body: body)
        target = .url(url)
    }

    /// Makes an endpoint whose parameters go where the method wants them: with GET, HEAD, DELETE and OPTIONS into the
    /// query, otherwise into a JSON body.
    public init(_ method: HTTPMethod, _ path: EndpointPath, parameters: Parameters) {
        self.init(method, path, body: RequestBody(content: .parameters(parameters)))
    }

    /// The same call, whose response lies below these keys of the answer, the outermost first.
    public func unwrapping(_ keys: String...) -> Self {
        with { $0.envelope += keys }
    }

    /// The same call, signed or not.
    public func authentication(_ rule: CallOptions.Authentication) -> Self {
        with { $0.options.authentication = rule }
    }

    /// The same call with this limit for each attempt, its body included.
    public func timeout(_ limit: Duration) -> Self {
        with { $0.options.timeout = limit }
    }

    /// The same call with this limit for everything together: waiting, refreshing, backing off and all attempts.
    public func deadline(_ limit: Duration) -> Self {
        with { $0.options.deadline = limit }
    }

    /// The same call, tried again by this policy.
    public func retry(_ policy: RetryPolicy) -> Self {
        with { $0.options.retry = policy }
    }

    /// The same call with a key that makes it safe to repeat.
    public func idempotencyKey(_ key: CallOptions.IdempotencyKey) -> Self {
        with { $0.options.idempotencyKey = key }
    }

    /// The same call with that key, which makes it safe to repeat.
    public func idempotencyKey(_ key: String) -> Self {
        idempotencyKey(.fixed(key))
    }

    /// The same call, an attempt of which takes so many permits of the rate limiter.
    public func permits(_ count: Int) -> Self {
        with { $0.options.permits = count }
    }

    /// The same call with that header field, which replaces those of the same name.
    public func header(_ name: String, _ value: String?) -> Self {
        with { $0.headers[name] = value }
    }

    /// The same call with that parameter in the query, which replaces those of the same name; `nil` removes them.
    public func query(_ name: String, _ value: (any QueryValue)?) -> Self {
        with { endpoint in
            endpoint.query.items.removeAll { $0.name == name }
            endpoint.query.add(name, value)
        }
    }

    /// The same call, whose response is decoded by that decoder in place of the client's.
    public func decoder(_ decoder: any ResponseDecoder) -> Self {
        with { $0.options.decoder = decoder }
    }

    private func with(_ change: (inout Self) -> Void) -> Self {
        var copy = self
        change(&copy)
        return copy
    }
}

extension Endpoint {
    /// Asks for something.
    public static func get(_ path: EndpointPath, query: QueryItems = [:], headers: HTTPHeaders = [:]) -> Self {
        Self(.get, path, query: query, headers: headers)
    }

    /// Asks for something at a URL that a response of the server has given, such as the `repos_url` of a user.
    ///
    ///     let repositories: [Repository] = try await client.run(.get(url: user.repositoriesURL))
    public static func get(url: String, headers: HTTPHeaders = [:]) -> Self {
        Self(.get, url: url, headers: headers)
    }

    /// Asks for the headers only.
    public static func head(_ path: EndpointPath, query: QueryItems = [:], headers: HTTPHeaders = [:]) -> Self {
        Self(.head, path, query: query, headers: headers)
    }

    /// Hands something over.
    public static func post(
        _ path: EndpointPath, query: QueryItems = [:], headers: HTTPHeaders = [:], body: RequestBody? = nil
    ) -> Self {
        Self(.post, path, query: query, headers: headers, body: body)
    }

    /// Replaces something.
    public static func put(
        _ path: EndpointPath, query: QueryItems = [:], headers: HTTPHeaders = [:], body: RequestBody? = nil
    ) -> Self {
        Self(.put, path, query: query, headers: headers, body: body)
    }

    /// Changes a part of something.
    public static func patch(
        _ path: EndpointPath, query: QueryItems = [:], headers: HTTPHeaders = [:], body: RequestBody? = nil
    ) -> Self {
        Self(.patch, path, query: query, headers: headers, body: body)
    }

    /// Removes something.
    public static func delete(
        _ path: EndpointPath, query: QueryItems = [:], headers: HTTPHeaders = [:], body: RequestBody? = nil
    ) -> Self {
        Self(.delete, path, query: query, headers: headers, body: body)
    }
}
