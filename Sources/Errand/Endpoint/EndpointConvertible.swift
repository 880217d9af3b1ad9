/// What a type of the user's own, an enum most often, tells of its calls, so that it turns into an `Endpoint`.
///
///     enum MovieRoute: EndpointConvertible {
///         case popular(page: Int)
///         case videos(of: Int)
///
///         var path: EndpointPath {
///             switch self {
///             case .popular: "popular"
///             case .videos(let id): "\(id)/videos"
///             }
///         }
///         var query: QueryItems {
///             switch self {
///             case .popular(let page): ["page": page]
///             case .videos: [:]
///             }
///         }
///     }
///
/// A client runs that; the response is what the caller asks for:
///
///     let page: MoviePage = try await client.run(MovieRoute.popular(page: 1))
///
/// Only the path has no default.
public protocol EndpointConvertible: Sendable {
    /// The path below the client's base URL.
    var path: EndpointPath { get }
    /// The method; GET by default.
    var method: HTTPMethod { get }
    /// The query; none by default.
    var query: QueryItems { get }
    /// The headers; none by default.
    var headers: HTTPHeaders { get }
    /// The body; none by default.
    var body: RequestBody? { get }
    /// The keys below which the response lies; none by default.
    var envelope: [String] { get }
    /// The rules of the call; the client's by default.
    var options: CallOptions { get }
}

extension EndpointConvertible {
    /// GET.
    public var method: HTTPMethod { .get }
    /// No query.
    public var query: QueryItems { [:] }
    /// No headers.
    public var headers: HTTPHeaders { [:] }
    /// No body.
    public var body: RequestBody? { nil }
    /// The response is the answer as a whole.
    public var envelope: [String] { [] }
    /// The client's rules.
    public var options: CallOptions { CallOptions() }
}

extension Endpoint {
    /// The endpoint that a route describes.
    public init(_ route: some EndpointConvertible) {
        self.init(route.method, route.path, query: route.query, headers: route.headers, body: route.body)
        envelope = route.envelope
        options = route.options
    }
}
