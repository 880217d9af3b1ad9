/// Checks servers that were set aside with requests of its own, one at a time, which no call waits for.
final class ServerProbe: Sendable {
    private struct State {
        var isUnderWay = false
        /// When the next one may begin: one that was not sent says nothing, and would be tried again by each call.
        var next = Instant.zero
    }

    /// The shortest time from the end of one to the beginning of the next.
    private static let pause = Duration.seconds(1)

    private let path: EndpointPath
    private let rules: CallRules
    private let background: BackgroundSends
    /// Returns the request, at the first server; `nil` if the client can send no `GET`.
    private let request: @Sendable () -> HTTPRequest?
    private let state = Lock(State())

    init(
        _ path: EndpointPath, rules: CallRules, _ background: BackgroundSends,
        request: @escaping @Sendable () -> HTTPRequest?
    ) {
        (self.path, self.rules, self.background, self.request) = (path, rules, background, request)
    }

    /// Has a server checked, if one may be tried.
    @inline(never)
    func start(
        of pool: ServerPool, _ longestPause: Duration, at time: any TimeSource, through next: @escaping Middleware.Next
    ) {
        let now = time.now
        guard let index = pool.dueForProbe(at: now), begin(at: now) else { return }
        guard let request = request() else {
            pool.giveUpProbing()
            return end(by: time)
        }
        var send = BackgroundSend(request, path: path, rules: rules)
        send.layers = { (request: HTTPRequest, context: CallContext) async throws(ServiceError) in
            context.transmission.beginAttempt()
            let way = ProbeWay(to: index, pool, context.transmission, longestPause: longestPause)
            do throws(ServiceError) {
                let response = try await next(request, context.entering(way))
                way.end(response)
                return response
            } catch {
                way.end(error)
                throw error
            }
        }
        let transmission = background.start(send) { [self] _ in end(by: time) }
        // The client has ended.
        if transmission == nil { end(by: time) }
    }

    private func begin(at now: Instant) -> Bool {
        state.withLock { state in
            guard !state.isUnderWay, now >= state.next else { return false }
            state.isUnderWay = true
            return true
        }
    }

    private func end(by time: any TimeSource) {
        let next = time.now.advanced(by: Self.pause)
        state.withLock { $0 = State(isUnderWay: false, next: next) }
    }
}
