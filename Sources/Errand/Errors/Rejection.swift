#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// An answer that is not a success, with what the server said about it.
public struct Rejection: Sendable, Hashable {
    /// The status code.
    public let status: Int
    /// The server's own words, from whichever of the usual members of its JSON has them: one line, without the secrets
    /// that the call sent, and with control characters written as escapes.
    public let message: String?
    /// The server's own code for the error.
    public let code: String?
    /// What is wrong with single fields, by their names.
    public let fieldErrors: [String: [String]]
    /// The header fields of the answer, unredacted; `description` is the text for people.
    public let headers: HTTPHeaders
    /// The body as it came, unredacted.
    public let body: Data
    /// How long the server asks to wait.
    public let retryAfter: Duration?
    /// Decodes as the client does that got the response.
    var decode = Uncompared<@Sendable (any Decodable.Type, Data) throws -> any Decodable>()
    /// What the client's `rejectionDetails` made of it.
    var details = Uncompared<any Sendable>()

    /// Makes one.
    public init(
        status: Int, message: String? = nil, code: String? = nil, fieldErrors: [String: [String]] = [:],
        headers: HTTPHeaders = [:], body: Data = Data(), retryAfter: Duration? = nil
    ) {
        self.status = status
        self.message = message
        self.code = code
        self.fieldErrors = fieldErrors
        self.headers = headers
        self.body = body
        self.retryAfter = retryAfter
    }

    /// Decodes the server's own error type from the body, with the decoder of the client that received it.
    ///
    /// Throws `.decodingFailed`, which says where the body is of another shape. A rejection that you have created
    /// yourself is decoded with a plain `JSONDecoder`.
    public func decodeBody<Value: Decodable>(as type: Value.Type) throws(ServiceError) -> Value {
        do {
            if let decode = decode.value, let value = try decode(type, body) as? Value { return value }
            return try JSONDecoder().decode(type, from: body)
        } catch {
            throw ServiceError(error) { error in
                // The decoder's own words may quote the body.
                let cause = DecodingFailure.Cause(error, decoding: type, isQuoting: false)
                return .decodingFailed(
                    DecodingFailure(path: cause.path, expected: cause.expected, found: cause.found, status: status))
            }
        }
    }

    /// The error of your own type that ``Configuration/rejectionDetails`` has read; `nil` if there is none of that type.
    public func details<Details>(as type: Details.Type = Details.self) -> Details? {
        details.value as? Details
    }
}

extension Rejection: CustomStringConvertible, CustomReflectable {
    /// A sentence for people: the server's, if it gave one.
    public var description: String {
        if let message { return message.printable }
        let answer = "The server answered \(status) (\(HTTPStatus.reason(status)))"
        if HTTPStatus.isTransient(status) || status >= 500 {
            return "\(answer); try again \(retryAfter.map { "in \($0.displayText)" } ?? "later")"
        }
        switch status {
        case 304: return "\(answer); what is there has not changed"
        case 300..<400: return "\(answer), a redirect that was not followed"
        case 401: return "\(answer); sign in again"
        case 403: return "\(answer); you are not allowed to do this"
        case 404: return "\(answer); what was asked for is not there"
        case 410: return "\(answer); this address is out of date"
        default: return answer
        }
    }

    /// Shows what may be shown: headers and the body may hold anything, so only the names and the size.
    public var customMirror: Mirror {
        Mirror(
            self,
            children: [
                "status": status, "message": message?.printable as Any, "code": code?.printable as Any,
                "fieldErrors": "\(fieldErrors)".printable,
                "headers": headers.map(\.name.printable).joined(separator: ", "), "body": "\(body.count) bytes",
                "retryAfter": retryAfter as Any,
            ])
    }
}
