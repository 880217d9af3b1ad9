/// Reports to the caller how much of the request's body has been sent.
///
/// It counts what the transport takes, which may be a megabyte ahead of the network. Each time the body is sent from
/// its start, by a retry, a replay or a redirect, a new attempt begins; what an earlier attempt still reports is
/// ignored.
///
/// Several threads may count, and the caller's closure runs outside the lock. So that no number overtakes another, one
/// thread reports at a time: a thread that finds another one reporting leaves its progress to that thread.
final class UploadProgress: Sendable {
    typealias Report = @Sendable (TransferProgress) -> Void

    fileprivate struct State {
        var current = TransferProgress(bytes: 0, attempt: 0)
        var reported: TransferProgress?
        var throttle = ProgressThrottle()
        /// Whether a thread is in the caller's closure.
        var isReporting = false
        /// Whether that thread has to report the current progress too, whatever the throttle says.
        var isDue = false
    }

    private let report: Report
    private let time: any TimeSource
    private let state = Lock(State())

    init(time: any TimeSource, _ report: @escaping Report) {
        self.report = report
        self.time = time
    }

    /// Returns the body as one whose progress is reported.
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

    /// Reports how much was sent by the send that has just ended, unless it was reported.
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
        var news: TransferProgress? = state.withLock { state in
            guard let news = state.news(at: now, isLast: isLast) else { return nil }
            guard !state.isReporting else {
                state.isDue = true
                return nil
            }
            (state.isReporting, state.reported) = (true, news)
            return news
        }
        while let next = news {
            report(next)
            news = state.withLock { state in
                defer { state.isDue = false }
                guard state.isDue, state.current != state.reported else {
                    state.isReporting = false
                    return nil
                }
                state.reported = state.current
                return state.current
            }
        }
    }
}

extension UploadProgress.State {
    /// Returns the current progress if it may be reported now and has not been.
    fileprivate mutating func news(at now: Instant, isLast: Bool) -> TransferProgress? {
        guard current.attempt > 0, current != reported else { return nil }
        return throttle.allows(at: now) || isLast ? current : nil
    }
}
