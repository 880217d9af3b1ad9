/// Starts transmissions that no call waits for.
///
/// A client provides the function, because they belong to it: they end with its shutdown.
final class BackgroundSends: Sendable {
    typealias Ended = @Sendable (Result<HTTPResponse, ServiceError>) -> Void
    /// Sends a request like one of that context after a pause, in a transmission of its own, and returns it. Returns
    /// `nil` if nothing may begin any more; then `ended` is not called.
    typealias Start = @Sendable (HTTPRequest, CallContext, Duration, @escaping Ended) -> Transmission?

    private let function = Lock<Start?>(nil)

    func provide(_ function: @escaping Start) {
        self.function.withLock { $0 = function }
    }

    func start(
        _ request: HTTPRequest, like context: CallContext, after pause: Duration = .zero, ended: @escaping Ended
    ) -> Transmission? {
        function.withLock { $0 }?(request, context, pause, ended)
    }
}
