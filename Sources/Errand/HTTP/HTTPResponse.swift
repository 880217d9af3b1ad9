/// An HTTP response: a status, headers and a body. Inside the pipeline every status is a value; only the client decides
/// which of them are errors.
public struct HTTPResponse: Sendable {
    /// The status code.
    public var status: Int
    /// The header fields.
    public var headers: HTTPHeaders
    /// The body.
    public var body: HTTPBody
    private var box: Box?

    /// Creates a response.
    public init(status: Int, headers: HTTPHeaders = [:], body: HTTPBody = .empty) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// The URL of the response, if a redirect was followed; otherwise `nil`.
    public var redirectedTo: HTTPURL? {
        get { provenance.redirectedTo }
        set { provenance.redirectedTo = newValue }
    }

    /// The URL that the response came from; `nil` if it is that of the request.
    var source: HTTPURL? { provenance.redirectedTo ?? provenance.sentTo }

    /// The timings of the exchange; `nil` if the transport does not report them.
    public var timings: Timings? {
        get { provenance.timings }
        set { provenance.timings = newValue }
    }

    /// Whether the status indicates success: 200 to 299.
    public var isSuccess: Bool { (200..<300).contains(status) }
}

extension HTTPResponse {
    /// Where a response comes from: what it carries besides HTTP.
    struct Provenance: Sendable {
        /// The URL of the response, if a redirect was followed; otherwise `nil`.
        var redirectedTo: HTTPURL?
        /// The URL of the response, if it came from another server than the client's first; otherwise `nil`.
        var sentTo: HTTPURL?
        /// Whether it redirects from one of the client's servers to another.
        var leadsToServer = false
        /// Whether a redirect led to another origin, so that the last request went without its credentials.
        var hasLeftOrigin = false
        /// The access token in the request's signature; `nil` if the request was not signed. Without a cache, only a
        /// response with status 401 names it.
        var accessToken: String?
        /// The timings of the exchange; `nil` if the transport does not report them.
        var timings: Timings?
        /// How the cache took part; `nil` if the client has none.
        var cache: CacheStatus?
        /// Whether it was stored, and the call may ask the server for another one.
        var isReplaceable = false
    }

    /// Whether the cache has answered, so that nothing was sent.
    var isFromCache: Bool { provenance.cache?.isLocal ?? false }

    /// Whether it was stored, and the call may ask the server for another one.
    ///
    /// Not inlined: in a function that waits, the whole provenance would take memory during the wait.
    var isReplaceable: Bool {
        @inline(never) get { box?.provenance.isReplaceable ?? false }
    }

    /// Whether the cache has answered that it has nothing, for a call that may only use the cache.
    var isRefusedByCache: Bool { provenance.cache?.reason == .onlyIfCached }

    /// Where the response comes from.
    var provenance: Provenance {
        get { box?.provenance ?? Provenance() }
        set { box = Box(newValue) }
    }

    /// A separate object: layers pass the response along, and this would be most of it.
    private final class Box: Sendable {
        let provenance: Provenance

        init(_ provenance: Provenance) {
            self.provenance = provenance
        }
    }
}

extension HTTPResponse: CustomStringConvertible, CustomReflectable {
    /// The status and the size of the body.
    public var description: String { "\(status) \(HTTPStatus.reason(status)), \(body)" }
    /// A mirror that shows only redacted parts.
    public var customMirror: Mirror {
        Mirror(self, children: ["response": description, "headers": headers.description])
    }
}
