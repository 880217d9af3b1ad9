/// An endpoint without the type of its response.
///
/// All that builds and sends requests takes one: it is compiled once for all types, and looks up none at run time.
struct UntypedEndpoint: Sendable {
    var method: HTTPMethod
    var path: EndpointPath
    var query: QueryItems
    var headers: HTTPHeaders
    var body: RequestBody?
    /// The options that were set; `nil` if none were, which is usual.
    private var boxedOptions: BoxedOptions?
    /// The keys below which the value is in the response.
    var envelope: [String] = []
    /// Whether the response is decoded; it is not for bytes and text.
    let isDecoded: Bool
    /// Whether a response with `errors`, as GraphQL has them, is an error whatever its status is.
    var hasGraphQLErrors = false
    /// A URL that the server has named. It replaces the path and the query.
    var target: Target?

    init(
        _ method: HTTPMethod, _ path: EndpointPath, query: QueryItems, headers: HTTPHeaders, body: RequestBody?,
        isDecoded: Bool
    ) {
        (self.method, self.path, self.query, self.headers, self.body) = (method, path, query, headers, body)
        self.isDecoded = isDecoded
    }

    var options: CallOptions {
        get { ownOptions ?? CallOptions() }
        set { boxedOptions = BoxedOptions(newValue) }
    }
    /// The options that were set; `nil` if none were.
    var ownOptions: CallOptions? { boxedOptions?.options }
    /// Whether its calls are never signed.
    var isAnonymous: Bool { boxedOptions.map { $0.options.authentication == .none } ?? false }

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

    /// A separate object: most endpoints have no options, and inline they would be most of the memory that a task holds
    /// for its endpoint.
    private final class BoxedOptions: Sendable, CustomStringConvertible, CustomReflectable {
        let options: CallOptions

        init(_ options: CallOptions) {
            self.options = options
        }

        var description: String { "\(options)" }
        var customMirror: Mirror { Mirror(reflecting: options) }
    }
}
