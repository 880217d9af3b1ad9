/// The reason why a request, or an operation on a client or a response, is invalid.
public struct InvalidRequest: Sendable, Hashable, CustomStringConvertible, ErrorPayload {
    /// The part that is wrong.
    @nonexhaustive public enum Subject: String, Sendable, Hashable, CaseIterable {
        /// A URL: the client's base URL, or the one a redirect names.
        case url
        /// The path of the endpoint.
        case path
        /// A query or its parameters.
        case query
        /// The method.
        case method
        /// A header's name or value.
        case header
        /// The body, which cannot be encoded.
        case body
        /// The path of a file to send or to write: there is no such file, its folder is missing, or something else is
        /// in its place.
        case file
        /// A token, or plain text, would be sent unencrypted to another machine.
        case cleartext
        /// A limit, a duration or another setting of the client or the endpoint.
        case configuration
        /// The client has been shut down.
        case clientShutDown
        /// The body of a streamed response, which can be read only once.
        case bodyAlreadyRead
    }

    /// The part that is wrong.
    public let subject: Subject
    /// What is wrong with it.
    public let reason: String
    /// Whether the server may have received an earlier request of the same call, and acted on it. It is `false` unless
    /// a middleware made a retry, a replay, or the request after a redirect invalid, or the body of a response was read
    /// twice.
    public var mayHaveReachedServer: Bool { call.mayHaveReachedServer }
    var call: FailedCall

    /// Creates a description of what is wrong.
    public init(_ subject: Subject, _ reason: String, mayHaveReachedServer: Bool = false) {
        self.subject = subject
        self.reason = reason
        call = FailedCall(mayHaveReachedServer: mayHaveReachedServer)
    }

    /// What happened, in words for developers.
    public var description: String {
        let beginning =
            switch subject {
            case .bodyAlreadyRead: "The response cannot be read"
            case .file: "The file cannot be used"
            default: "The request cannot be sent\(mayHaveReachedServer ? " again" : "")"
            }
        return "\(beginning): \(reason)".printable
    }
}

extension ServiceError {
    /// Returns the error for a setting of the client, of an endpoint or of another part that cannot be.
    package static func badSetting(_ reason: String) -> ServiceError {
        .invalidRequest(InvalidRequest(.configuration, reason))
    }
}
