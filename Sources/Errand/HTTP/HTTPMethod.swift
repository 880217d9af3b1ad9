/// An HTTP method, by name. Method names are case-sensitive.
public struct HTTPMethod: Sendable, Hashable, RawRepresentable, CustomStringConvertible, ExpressibleByStringLiteral {
    /// The name as it is sent.
    public let rawValue: String

    /// The method of that name.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// The method of that name.
    public init(stringLiteral name: String) {
        self.init(rawValue: name)
    }

    /// The name as it is sent.
    public var description: String { rawValue }

    /// Asks for a representation.
    public static let get = HTTPMethod(rawValue: "GET")
    /// Asks for what GET would answer, without its body.
    public static let head = HTTPMethod(rawValue: "HEAD")
    /// Hands data over for processing.
    public static let post = HTTPMethod(rawValue: "POST")
    /// Replaces what is there.
    public static let put = HTTPMethod(rawValue: "PUT")
    /// Changes a part of what is there.
    public static let patch = HTTPMethod(rawValue: "PATCH")
    /// Removes what is there.
    public static let delete = HTTPMethod(rawValue: "DELETE")
    /// Asks what can be done.
    public static let options = HTTPMethod(rawValue: "OPTIONS")

    /// Whether doing it twice comes to the same as doing it once (RFC 9110, 9.2.2), so that a call may be repeated
    /// when its fate is unknown.
    public var isIdempotent: Bool {
        switch self {
        case .get, .head, .put, .delete, .options, "TRACE": true
        default: false
        }
    }

    /// Whether `Endpoint(_:_:parameters:)` puts its parameters in the query; otherwise they make a JSON body.
    var takesParametersInQuery: Bool {
        switch self {
        case .get, .head, .delete, .options: true
        default: false
        }
    }
}
