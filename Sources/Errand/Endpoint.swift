#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The options of an endpoint that has any. A separate object: most endpoints have none, and inline they would be most
/// of the memory that a task holds for its endpoint.
private final class BoxedOptions: Sendable, CustomStringConvertible, CustomReflectable {
    let options: CallOptions

    init(_ options: CallOptions) {
        self.options = options
    }

    var description: String { "\(options)" }
    var customMirror: Mirror { Mirror(reflecting: options) }
}

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
    /// The method.
    public var method: HTTPMethod
    /// The path below the client's base URL.
    public var path: EndpointPath
    /// The query. The client's common parameters are added to it.
    public var query: QueryItems
    /// The headers. They override the client's common headers.
    public var headers: HTTPHeaders
    /// The body; `nil` if there is none.
    public var body: RequestBody?
    /// The options of the call; by default those of the client's configuration.
    public var options: CallOptions {
        get { ownOptions ?? CallOptions() }
        set { boxedOptions = BoxedOptions(newValue) }
    }
    private var boxedOptions: BoxedOptions?
    /// The options that were set; `nil` if none were, which is usual. Inlined, because generic code would look up the
    /// type of the endpoint at run time to call it.
    @inline(__always) var ownOptions: CallOptions? { boxedOptions?.options }
    /// Whether its calls are never signed.
    @inline(__always) var isAnonymous: Bool { boxedOptions.map { $0.options.authentication == .none } ?? false }
    /// The keys below which the value is in the response; by default there are none.
    public internal(set) var envelope: [String] = []
    /// Whether a response with `errors`, as GraphQL has them, is an error whatever its status is.
    var hasGraphQLErrors = false
    /// A URL that the server has named. It replaces the path and the query.
    var target: Target?

    enum Target: Sendable, OpaqueReflectable {
        /// The next page of a list.
        case page(HTTPURL)
        /// A URL as written in a response, absolute or relative.
        case url(String)

        /// The URL without its secrets.
        var description: String {
            switch self {
            case .page(let url): url.description
            case .url(let text): Redactor.standard.text(ofURL: text)
            }
        }
    }

    /// Creates an endpoint.
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

    /// Creates an endpoint for a URL from a response of the server.
    ///
    /// A relative URL is resolved against the client's base URL. The URL must have the client's own origin; otherwise
    /// the call fails with `.invalidRequest`, and nothing is sent there.
    public init(
        _ method: HTTPMethod, url: String, query: QueryItems = [:], headers: HTTPHeaders = [:],
        body: RequestBody? = nil
    ) {
        self.init(method, EndpointPath(ofURL: url), query: query, headers: headers, body: body)
        target = .url(url)
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
        with { $0.envelope += keys }
    }

    /// Returns the same call with that header field, which replaces those with the same name; `nil` removes them.
    public func header(_ name: String, _ value: String?) -> Self {
        with { $0.headers[name] = value }
    }

    /// Returns the same call with that query parameter, which replaces those with the same name; `nil` removes them.
    public func query(_ name: String, _ value: (any QueryValue)?) -> Self {
        with { endpoint in
            endpoint.query.items.removeAll { $0.name == name }
            endpoint.query.add(name, value)
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
