/// What is wrong with a request that was never sent.
public struct InvalidRequest: Sendable, Hashable, CustomStringConvertible {
    /// The part that is wrong.
    public enum Subject: String, Sendable, Hashable, CaseIterable {
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
        /// A token or plain text would go over the network unencrypted.
        case cleartext
        /// A limit, a duration or another setting of the client or the endpoint.
        case configuration
        /// The client has been shut down.
        case clientShutDown
    }

    /// The part that is wrong.
    public let subject: Subject
    /// What is wrong with it.
    public let reason: String

    /// Makes one.
    public init(_ subject: Subject, _ reason: String) {
        self.subject = subject
        self.reason = reason
    }

    /// A sentence for people.
    public var description: String { "The request cannot be sent: \(reason)" }
}
