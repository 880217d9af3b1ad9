/// The pace of a store's refreshes: less and less often after failures (T9), and not while new tokens are refused (T3).
///
/// A refresh counts against the cap when its token meets a 401, unless a request with that token was accepted before or
/// is accepted later. Tokens that the server accepts may be as short-lived as it likes (T12).
struct RefreshPace: Sendable {
    /// Five refused tokens within 30 seconds mean that new ones do not help.
    private static let cap = 5
    private static let window = Duration.seconds(30)
    private static let backoff = Backoff()

    /// The tokens that the server has refused, and when they arrived.
    private var recent: [(access: String, came: Instant)] = []
    /// The newest token, until it is refused.
    private var newest: (access: String, came: Instant)?
    private var failures = 0
    private(set) var notBefore = Instant.zero

    /// Whether a refresh without waiters may start now.
    func mayStart(at now: Instant) -> Bool {
        now >= notBefore && mayRefresh(at: now)
    }

    func mayRefresh(at now: Instant) -> Bool {
        recent.count { $0.came.duration(to: now) < Self.window } < Self.cap
    }

    mutating func succeeded(with token: Token, at now: Instant) {
        newest = (token.accessToken, now)
        failures = 0
    }

    /// Ends the delay after a failure.
    mutating func recovered() {
        notBefore = .zero
    }

    /// Notes that the server has refused a token: each counts once, however many calls were sent with it.
    mutating func refused(_ access: String, at now: Instant) {
        guard let newest, newest.access == access else { return }
        self.newest = nil
        recent.removeAll { $0.came.duration(to: now) >= Self.window }
        recent.append(newest)
    }

    /// Notes that the server has accepted a token: so it is one endpoint that refuses it, and not the server.
    mutating func accepted(_ access: String) {
        recent.removeAll { $0.access == access }
    }

    mutating func failed(at now: Instant, random: Double) {
        failures += 1
        notBefore = now.advanced(by: Self.backoff.pause(beforeRetry: failures, random: random))
    }
}
