/// A failure between the client and the server.
public struct TransportFailure: Sendable, Hashable, CustomStringConvertible, ErrorPayload {
    /// The kinds of failure.
    @nonexhaustive public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// The host name could not be resolved.
        case dns
        /// The server refused the connection.
        case refused
        /// There is no route to the host.
        case unreachable
        /// The connection broke off.
        case reset
        /// The TLS handshake failed.
        case tls
        /// The server's certificate is not trusted: unknown issuer, wrong host, expired, or not the pinned one.
        case untrustedCertificate
        /// The proxy failed.
        case proxy
        /// The body ended too early.
        case truncated
        /// The response is not valid HTTP.
        case malformed
        /// The body is larger than the limit.
        case tooLarge
        /// The transport does not support a feature that the request needs.
        case unsupported
        /// There is no transport, it was shut down, or a library that it needs is not installed.
        case unavailable
        /// The process has no descriptors, no memory or no threads left for another connection.
        case outOfResources
        /// Too many requests of the client wait already. See ``ConcurrencyLimit``.
        case overloaded
        /// The server has failed too often, and is not asked for a while. See ``CircuitBreaker``.
        case circuitOpen
        /// The access token could not be refreshed, because the saved session cannot be used now: another process does
        /// not release its lock on the file, or the file's folder is missing. The session is kept.
        case storage
        /// A file that the call sends or receives cannot be read or written: the disk is full, or the file has changed
        /// during the call.
        case file
        /// The file that was downloaded does not have the digest that the server or the caller names.
        case digestMismatch
        /// The stream of the request's body threw an error of its own, or does not have the length that it promised.
        case requestBody
        /// A middleware threw an error of its own.
        case middleware
        /// Anything else, such as an error of its own that a closure of yours threw.
        case other

        /// Whether the server may have received the request despite such a failure.
        var mayComeAfterSending: Bool {
            switch self {
            case .dns, .refused, .unreachable, .tls, .untrustedCertificate, .proxy, .unsupported, .unavailable,
                .outOfResources, .overloaded, .circuitOpen, .storage:
                false
            case .reset, .truncated, .malformed, .tooLarge, .file, .digestMismatch, .requestBody, .middleware, .other:
                true
            }
        }
    }

    /// The kind.
    public let kind: Kind
    /// What happened, in words.
    public let message: String
    /// Whether the server may have received the request, and acted on it.
    public var mayHaveReachedServer: Bool { call.mayHaveReachedServer }
    var call: FailedCall
    /// How long to wait before another call, if the kind is `.circuitOpen`; otherwise `nil`.
    public var retryAfter: Duration? { pause.value }
    var pause = Uncompared<Duration>()
    /// Whether it will not go away soon, although others of its kind may.
    var isLasting = Uncompared<Bool>()

    /// Creates a failure. By default the kind determines whether the request may have reached the server.
    public init(_ kind: Kind, _ message: String = "", mayHaveReachedServer: Bool? = nil) {
        self.kind = kind
        self.message = message
        call = FailedCall(mayHaveReachedServer: mayHaveReachedServer ?? kind.mayComeAfterSending)
    }

    /// What happened, in words for developers.
    public var description: String {
        let words = message.isEmpty ? kind.displayText : "\(kind.displayText): \(message)".printable
        return kind.advice.map { "\(words); \($0)" } ?? words
    }
}

extension TransportFailure.Kind {
    fileprivate var displayText: String {
        switch self {
        case .dns: "The server's name could not be found"
        case .refused: "The server refuses the connection"
        case .unreachable: "The server cannot be reached"
        case .reset: "The connection to the server broke off"
        case .tls: "A secure connection to the server could not be established"
        case .untrustedCertificate: "The server's certificate is not trusted"
        case .proxy: "The proxy failed"
        case .truncated: "The response broke off before its end"
        case .malformed: "The server responded with something that is not HTTP"
        case .tooLarge: "The server's response is too large"
        case .unsupported: "The transport does not support this request"
        case .unavailable: "There is no transport"
        case .outOfResources: "The system has no resources left for another connection"
        case .overloaded: "Too many requests wait already"
        case .circuitOpen: "The client does not ask the server at the moment"
        case .storage: "The saved session cannot be used now"
        case .file: "A file on this device cannot be used"
        case .digestMismatch: "The downloaded file does not match its digest"
        case .requestBody: "The body of the request could not be read"
        case .middleware: "The app's own handling of the call failed"
        case .other: "The call failed"
        }
    }

    /// What a developer can do about it, for the end of the line; `nil` if the message says it all.
    fileprivate var advice: String? {
        switch self {
        case .dns: "check the address and the connection"
        case .refused: "check that the server is running, and its port"
        case .unreachable: "check the connection"
        case .proxy: "check its settings"
        case .reset, .truncated, .storage: "try again"
        case .outOfResources, .overloaded, .circuitOpen, .digestMismatch: "try again later"
        case .tls, .untrustedCertificate, .malformed, .tooLarge, .unsupported, .unavailable, .file, .requestBody,
            .middleware, .other:
            nil
        }
    }
}

/// Errors that any transport may report.
extension ServiceError {
    /// The error for a body with more bytes than a limit, and the name of the option that sets it.
    static func bodyTooLarge(_ limit: Int, option: String? = "responseByteLimit") -> ServiceError {
        let advice = option.map { ", which `\($0)` sets" } ?? ""
        let message = "the response is larger than the limit of \(limit) bytes\(advice)"
        return .transport(TransportFailure(.tooLarge, message))
    }

    static func transportShutDown(mayHaveReachedServer: Bool) -> ServiceError {
        let message = "the transport has been shut down"
        return .transport(TransportFailure(.unavailable, message, mayHaveReachedServer: mayHaveReachedServer))
    }

    /// The error for a stream that is not as long as it was said to be.
    package static func wrongLength(of body: HTTPBody) -> ServiceError {
        let message = "the stream of the request's body does not have the \(body.length ?? 0) bytes that were announced"
        return .transport(TransportFailure(.requestBody, message))
    }

    static func streamFailed(_ name: String) -> ServiceError {
        .transport(TransportFailure(.requestBody, "the stream of the request's body threw \(name)"))
    }
}
