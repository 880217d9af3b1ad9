#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A call of a REST API as a plain value: the request, its options, and the type of the response.
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
/// Creating one has no effect and cannot fail. When the call runs, it checks the endpoint before it sends anything.
public struct Endpoint<Response: Decodable & Sendable>: Sendable {
    /// All of it but the type of the response.
    var untyped: UntypedEndpoint

    /// The method.
    public var method: HTTPMethod {
        get { untyped.method }
        set { untyped.method = newValue }
    }
    /// The path below the client's base URL.
    public var path: EndpointPath {
        get { untyped.path }
        set { untyped.path = newValue }
    }
    /// The query. The client's common parameters are added to it.
    public var query: QueryItems {
        get { untyped.query }
        set { untyped.query = newValue }
    }
    /// The headers. They override the client's common headers.
    public var headers: HTTPHeaders {
        get { untyped.headers }
        set { untyped.headers = newValue }
    }
    /// The body; `nil` if there is none.
    public var body: RequestBody? {
        get { untyped.body }
        set { untyped.body = newValue }
    }
    /// The options of the call; by default those of the client's configuration.
    public var options: CallOptions {
        get { untyped.options }
        set { untyped.options = newValue }
    }
    /// The keys below which the value is in the response; by default there are none.
    public var envelope: [String] { untyped.envelope }

    /// Creates an endpoint.
    public init(
        _ method: HTTPMethod, _ path: EndpointPath, query: QueryItems = [:], headers: HTTPHeaders = [:],
        body: RequestBody? = nil
    ) {
        untyped = UntypedEndpoint(
            method, path, query: query, headers: headers, body: body,
            isDecoded: Response.self != Data.self && Response.self != String.self)
    }

    /// Creates an endpoint for a URL from a response of the server.
    ///
    /// A relative URL is resolved against the client's base URL. The URL must have the client's own origin; otherwise
    /// the call fails with `.invalidRequest`, and nothing is sent there.
    public init(
        _ method: HTTPMethod, url: String, query: QueryItems = [:], headers: HTTPHeaders = [:],
        body: RequestBody? = nil
    ) {
        self.init(method, EndpointPath(ofURL: url), query: query, headers: headers, body: body)
        untyped.target = .url(url)
    }

    /// Creates an endpoint for a URL from a response of the server.
    public init(
        _ method: HTTPMethod, url: URL, query: QueryItems = [:], headers: HTTPHeaders = [:], body: RequestBody? = nil
    ) {
        self.init(method, url: url.absoluteString, query: query, headers: headers, body: body)
    }

    /// Creates an endpoint whose method determines the place of its parameters: the query with GET, HEAD, DELETE and
    /// OPTIONS, otherwise a JSON body.
    public init(_ method: HTTPMethod, _ path: EndpointPath, parameters: Parameters) {
        self.init(method, path, body: RequestBody(content: .parameters(parameters)))
    }

    /// Returns the same call with a response whose value is below these keys, the outermost first.
    public func unwrapping(_ keys: String...) -> Self {
        with { $0.untyped.envelope += keys }
    }

    /// Returns the same call with that header field, which replaces those with the same name; `nil` removes them.
    public func header(_ name: String, _ value: String?) -> Self {
        with { $0.untyped.headers[name] = value }
    }

    /// Returns the same call with that query parameter, which replaces those with the same name; `nil` removes them.
    public func query(_ name: String, _ value: (any QueryValue)?) -> Self {
        with { endpoint in
            endpoint.untyped.query.items.removeAll { $0.name == name }
            endpoint.untyped.query.add(name, value)
        }
    }

    /// Returns the same call with the members of that value as parameters of the query.
    ///
    ///     struct Filter: Encodable, Sendable {
    ///         var friendOf: User.ID?
    ///         var tags: [String] = []
    ///     }
    ///
    ///     let found = Endpoint<[User]>.get("users").query(Filter(tags: ["swift", "linux"]))
    ///
    /// A `nil` is left out, a list repeats its name, and a member of an inner object is `filter[name]`. If the client's
    /// encoder is a `JSONEncoder`, it determines the format of names, and of dates if it has one; otherwise dates are
    /// in ISO 8601. A parameter of the endpoint's ``query`` replaces one with the same name, and another value replaces
    /// this one. A value that cannot be encoded, or is not encoded as an object, makes the call fail with
    /// `.invalidRequest`.
    public func query(_ value: some Encodable & Sendable) -> Self {
        with { $0.options.queryValue = QueryMembers(value: value) }
    }

    func with(_ change: (inout Self) -> Void) -> Self {
        var copy = self
        change(&copy)
        return copy
    }
}

extension Endpoint {
    /// Creates an endpoint that requests a representation of a resource.
    public static func get(_ path: EndpointPath, query: QueryItems = [:], headers: HTTPHeaders = [:]) -> Self {
        Self(.get, path, query: query, headers: headers)
    }

    /// Creates an endpoint that requests a URL from a response of the server, such as the `repos_url` of a user.
    ///
    ///     let repositories: [Repository] = try await client.run(.get(url: user.repositoriesURL))
    public static func get(url: String, headers: HTTPHeaders = [:]) -> Self {
        Self(.get, url: url, headers: headers)
    }

    /// Creates an endpoint that requests a URL from a response of the server.
    public static func get(url: URL, headers: HTTPHeaders = [:]) -> Self {
        Self(.get, url: url, headers: headers)
    }

    /// Creates an endpoint that requests only the headers of a resource.
    public static func head(_ path: EndpointPath, query: QueryItems = [:], headers: HTTPHeaders = [:]) -> Self {
        Self(.head, path, query: query, headers: headers)
    }

    /// Creates an endpoint that submits data for processing.
    public static func post(
        _ path: EndpointPath, query: QueryItems = [:], headers: HTTPHeaders = [:], body: RequestBody? = nil
    ) -> Self {
        Self(.post, path, query: query, headers: headers, body: body)
    }

    /// Creates an endpoint that replaces a resource.
    public static func put(
        _ path: EndpointPath, query: QueryItems = [:], headers: HTTPHeaders = [:], body: RequestBody? = nil
    ) -> Self {
        Self(.put, path, query: query, headers: headers, body: body)
    }

    /// Creates an endpoint that changes a part of a resource.
    public static func patch(
        _ path: EndpointPath, query: QueryItems = [:], headers: HTTPHeaders = [:], body: RequestBody? = nil
    ) -> Self {
        Self(.patch, path, query: query, headers: headers, body: body)
    }

    /// Creates an endpoint that deletes a resource.
    public static func delete(
        _ path: EndpointPath, query: QueryItems = [:], headers: HTTPHeaders = [:], body: RequestBody? = nil
    ) -> Self {
        Self(.delete, path, query: query, headers: headers, body: body)
    }
}

extension Endpoint: CustomReflectable {
    /// A mirror that shows the parts of the endpoint.
    public var customMirror: Mirror {
        Mirror(self, children: Mirror(reflecting: untyped).children, displayStyle: .struct)
    }
}
