/// A type, usually an enumeration, that describes requests and converts to an `Endpoint`.
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
/// A client runs it; the type of the result determines how the response is decoded:
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
    /// The keys below which the value is in the response; none by default.
    var envelope: [String] { get }
    /// The options of the call; by default those of the client's configuration.
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
    /// No keys: the value is the whole response.
    public var envelope: [String] { [] }
    /// Options that follow the client's configuration.
    public var options: CallOptions { CallOptions() }
}

extension Endpoint {
    /// Creates the endpoint that a route describes.
    public init(_ route: some EndpointConvertible) {
        self.init(route.method, route.path, query: route.query, headers: route.headers, body: route.body)
        untyped.envelope = route.envelope
        options = route.options
    }
}
