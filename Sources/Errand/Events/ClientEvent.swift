/// Something that happened to a call of a client. It holds no secret: URLs come redacted, and errors without the body
/// and the headers of the answer.
public struct ClientEvent: Sendable, Hashable {
    /// What happened.
    @nonexhaustive public enum Kind: Sendable, Hashable {
        /// The call began.
        case began
        /// It waited so long for a permit of the rate limiter, and has it now.
        case waitedForPermit(Duration)
        /// It waited so long for a fresh access token, and has it now.
        case waitedForToken(Duration)
        /// A request was handed to the transport.
        case sent(SentRequest, attempt: Int)
        /// An answer came; with the parts of its time, if the transport tells.
        case answered(status: Int, bytes: Int, after: Duration, timings: Timings?)
        /// The server asked for so long a pause, which is longer than `Configuration.longestServerPause`. It was
        /// ignored.
        case ignoredPause(Duration)
        /// No answer came.
        case failed(ServiceError, after: Duration)
        /// A redirect is followed.
        case redirected(Int, to: String)
        /// The call is tried again after a pause.
        case retrying(after: RetryReason, pause: Duration)
        /// Something that a person should know about what the client runs on: a libcurl that is known for faults that a
        /// server can use. It is told once per process, with the first request that is sent while anybody listens.
        case warned(String)
        /// The call ended with a value.
        case succeeded(attempts: Int, after: Duration)
        /// The call ended with an error.
        case ended(ServiceError, attempts: Int, after: Duration)
    }

    /// Why a call is tried again.
    @nonexhaustive public enum RetryReason: Sendable, Hashable {
        /// The server answered so.
        case status(Int)
        /// No answer came.
        case failure(ServiceError)
    }

    /// A request as it may be shown.
    public struct SentRequest: Sendable, Hashable {
        /// The method.
        public let method: HTTPMethod
        /// The URL without secret parameters.
        public let url: String
        /// The number of bytes of the body, where there is one and it is known.
        public let bodyLength: Int?
    }

    /// The number of the call, among those of its client.
    public let call: Int
    /// The call by its method and path.
    public let endpoint: String
    /// When it happened.
    public let at: Instant
    /// What happened.
    public let kind: Kind

    /// The error with which the call ended, if this is that event: an app that shows failures in one place listens
    /// for it. It has neither the body nor the headers of the answer, which the error that the caller gets has.
    public var failure: ServiceError? {
        guard case .ended(let error, _, _) = kind else { return nil }
        return error
    }
}

/// Where the events of a client go: to the listeners of its stream, and to its observer.
final class EventHub: Sendable {
    private let listeners = Broadcast<ClientEvent>()
    private let observer: (@Sendable (ClientEvent) -> Void)?

    init(observer: (@Sendable (ClientEvent) -> Void)? = nil) {
        self.observer = observer
    }

    /// Whether anybody gets the events: one that nobody would get need not be made.
    var hasListeners: Bool { observer != nil || listeners.hasListeners }

    func stream(keeping policy: AsyncStream<ClientEvent>.Continuation.BufferingPolicy) -> AsyncStream<ClientEvent> {
        listeners.stream(keeping: policy)
    }

    func send(_ event: ClientEvent) {
        observer?(event)
        listeners.send(event)
    }

    func finish() {
        listeners.finish()
    }
}

extension ClientEvent.Kind {
    /// The same without what an answer held, which may be a secret.
    var withoutContent: Self {
        switch self {
        case .failed(let error, let pause): .failed(error.withoutContent, after: pause)
        case .retrying(.failure(let error), let pause): .retrying(after: .failure(error.withoutContent), pause: pause)
        case .ended(let error, let attempts, let pause):
            .ended(error.withoutContent, attempts: attempts, after: pause)
        default: self
        }
    }
}

extension ServiceError {
    /// The same without the headers and the body of the answer.
    fileprivate var withoutContent: ServiceError {
        switch self {
        case .rejected(let rejection): .rejected(rejection.withoutContent)
        case .serverFailure(let rejection): .serverFailure(rejection.withoutContent)
        default: self
        }
    }
}

extension Rejection {
    fileprivate var withoutContent: Rejection {
        Rejection(status: status, message: message, code: code, fieldErrors: fieldErrors, retryAfter: retryAfter)
    }
}

extension HTTPRequest {
    var redacted: ClientEvent.SentRequest {
        ClientEvent.SentRequest(method: method, url: url.description, bodyLength: body?.length)
    }
}
