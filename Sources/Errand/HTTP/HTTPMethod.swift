/// An HTTP method. Method names are case-sensitive.
public struct HTTPMethod: Sendable, Hashable, RawRepresentable, CustomStringConvertible, ExpressibleByStringLiteral {
    /// The name as it is sent.
    public let rawValue: String

    /// Creates the method with that name.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// Creates the method with that name.
    public init(stringLiteral name: String) {
        self.init(rawValue: name)
    }

    /// The name as it is sent.
    public var description: String { rawValue }

    /// Requests a representation of the resource.
    public static let get = HTTPMethod(rawValue: "GET")
    /// Requests what GET would return, without the body.
    public static let head = HTTPMethod(rawValue: "HEAD")
    /// Submits data for processing.
    public static let post = HTTPMethod(rawValue: "POST")
    /// Replaces the resource.
    public static let put = HTTPMethod(rawValue: "PUT")
    /// Changes a part of the resource.
    public static let patch = HTTPMethod(rawValue: "PATCH")
    /// Deletes the resource.
    public static let delete = HTTPMethod(rawValue: "DELETE")
    /// Reads what the body asks for, and changes nothing.
    public static let query = HTTPMethod(rawValue: "QUERY")
    /// Requests the communication options of the resource.
    public static let options = HTTPMethod(rawValue: "OPTIONS")

    /// Whether sending the request twice has the same effect as sending it once (RFC 9110, 9.2.2). Then a call may be
    /// repeated when it is not known whether the server received it.
    public var isIdempotent: Bool {
        switch self {
        case .get, .head, .put, .delete, .query, .options, "TRACE": true
        default: false
        }
    }

    /// Whether the request only reads, so that the server acts on nothing (RFC 9110, 9.2.1).
    public var isSafe: Bool {
        switch self {
        case .get, .head, .query, .options, "TRACE": true
        default: false
        }
    }

    /// Whether `Endpoint(_:_:parameters:)` puts its parameters into the query; otherwise they become a JSON body.
    var takesParametersInQuery: Bool {
        switch self {
        case .get, .head, .delete, .options: true
        default: false
        }
    }
}
