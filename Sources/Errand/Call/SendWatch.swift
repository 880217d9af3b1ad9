/// Compares what reaches the attempt middleware with what is sent in the end, while a transmission goes on.
///
/// The layers of the library say above the middleware what they add, and a call can be compared with another there.
/// What a middleware adds, only the sends show.
final class SendWatch: Sendable {
    /// Receives the request of each send as it was before the middleware, and as it was sent; `nil` if a middleware has
    /// answered by itself.
    typealias Report = @Sendable (_ received: HTTPRequest, _ sent: HTTPRequest?) -> Void

    private struct State {
        var received: HTTPRequest?
        var isSent = false
    }

    private let state = Lock(State())
    private let report: Report

    init(_ report: @escaping Report) {
        self.report = report
    }

    /// Notes a request before the middleware sees it.
    func begin(_ request: HTTPRequest) {
        state.withLock { $0 = State(received: request) }
    }

    /// Notes a request that is sent. Without a request before the middleware there is no middleware.
    func noteSent(_ request: HTTPRequest) {
        let received = state.withLock { state in
            state.isSent = true
            return state.received
        }
        if let received { report(received, request) }
    }

    /// Notes that the middleware has returned a response.
    func end() {
        let state = state.withLock { $0 }
        if let received = state.received, !state.isSent { report(received, nil) }
    }
}

/// Tells the watch of a transmission what reaches the attempt middleware.
struct WatchedSends: Layer {
    func intercept(
        _ request: HTTPRequest, _ context: CallContext, next: @escaping Next
    ) async throws(ServiceError) -> HTTPResponse {
        guard let watch = context.transmission.watch else { return try await next(request, context) }
        watch.begin(request)
        let response = try await next(request, context)
        watch.end()
        return response
    }
}
