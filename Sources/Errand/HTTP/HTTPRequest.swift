/// An HTTP request: a method, an absolute URL, headers and a body.
public struct HTTPRequest: Sendable {
    /// The method.
    public var method: HTTPMethod
    /// The URL.
    public var url: HTTPURL
    /// The header fields.
    public var headers: HTTPHeaders
    /// The body; `nil` if the request has none.
    public var body: HTTPBody?

    /// Creates a request.
    public init(method: HTTPMethod, url: HTTPURL, headers: HTTPHeaders = [:], body: HTTPBody? = nil) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
    }

    /// Whether the request may be sent twice: its method is idempotent, or the server recognizes the second send by the
    /// idempotency key.
    var isRepeatable: Bool { method.isIdempotent || headers["Idempotency-Key"] != nil }
}

extension HTTPRequest: CustomStringConvertible, CustomReflectable {
    /// The method and the URL; the values of secret parameters are redacted.
    public var description: String { "\(method) \(url)" }
    /// A mirror that shows only redacted parts.
    public var customMirror: Mirror {
        Mirror(
            self,
            children: ["request": description, "headers": headers.description, "body": body?.description ?? "none"])
    }
}
