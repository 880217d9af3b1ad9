/// What is sent: a method, an absolute URL, headers and a body.
public struct HTTPRequest: Sendable {
    /// The method.
    public var method: HTTPMethod
    /// Where it goes.
    public var url: HTTPURL
    /// The header fields.
    public var headers: HTTPHeaders
    /// The body; `nil` for a request that has none.
    public var body: HTTPBody?

    /// Makes a request.
    public init(method: HTTPMethod, url: HTTPURL, headers: HTTPHeaders = [:], body: HTTPBody? = nil) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
    }

    /// Whether it may be sent twice: its method does no harm then, or the server tells the second from the first by a
    /// key.
    var isRepeatable: Bool { method.isIdempotent || headers["Idempotency-Key"] != nil }
}

extension HTTPRequest: CustomStringConvertible, CustomReflectable {
    /// The first line as a person would write it; secret parameters are not shown.
    public var description: String { "\(method) \(url)" }
    /// Shows the redacted parts only.
    public var customMirror: Mirror {
        Mirror(
            self,
            children: ["request": description, "headers": headers.description, "body": body?.description ?? "none"])
    }
}
