/// Tells the caller how much of the request's body has been sent.
///
/// It counts what the transport takes, which may be a megabyte ahead of the network. Each time the body is sent from
/// its start, by a retry, a replay or a redirect, a new attempt begins; what an earlier attempt still reports is
/// ignored.
final class UploadProgress: Sendable {
    typealias Tell = @Sendable (TransferProgress) -> Void

    private struct State {
        var current = TransferProgress(bytes: 0, attempt: 0)
        var told: TransferProgress?
        var throttle = ProgressThrottle()
    }

    private let tell: Tell
    private let time: any TimeSource
    private let state = Lock(State())

    init(time: any TimeSource, _ tell: @escaping Tell) {
        self.tell = tell
        self.time = time
    }

    /// Returns the body as one whose progress is told.
    func watching(_ body: HTTPBody) -> HTTPBody {
        body.counted { self.begin(of: body.length) }
    }

    /// Begins an attempt to send a body with that many bytes. Returns a closure to call with the size of each piece,
    /// and with 0 at the end.
    func begin(of total: Int?) -> @Sendable (Int) -> Void {
        let attempt = state.withLock { state in
            state.current = TransferProgress(bytes: 0, total: total, attempt: state.current.attempt + 1)
            return state.current.attempt
        }
        tellCurrent(isLast: false)
        return { self.note($0, of: attempt) }
    }

    /// Tells how far the send has come that has just ended, unless that has been told.
    func finish() {
        tellCurrent(isLast: true)
    }

    private func note(_ count: Int, of attempt: Int) {
        let isLast: Bool? = state.withLock { state in
            let current = state.current
            guard current.attempt == attempt else { return nil }
            state.current = TransferProgress(
                bytes: current.bytes + count, total: current.total, attempt: current.attempt)
            return count == 0 || state.current.bytes == current.total
        }
        if let isLast { tellCurrent(isLast: isLast) }
    }

    private func tellCurrent(isLast: Bool) {
        let now = time.now
        let news: TransferProgress? = state.withLock { state in
            guard state.current.attempt > 0, state.current != state.told else { return nil }
            guard state.throttle.allows(at: now) || isLast else { return nil }
            state.told = state.current
            return state.current
        }
        if let news { tell(news) }
    }
}
