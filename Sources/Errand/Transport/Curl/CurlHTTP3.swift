#if os(Linux)
/// Which requests go over HTTP/3: what is known of each origin, in memory.
///
/// HTTP/3 uses UDP, which some networks drop, so a server that announces it is tried first: by one request, on a
/// connection of its own, which falls back to TCP within a fraction of a second. Until its response comes, the other
/// requests go over TCP as before. From then on they share that connection as long as it is there.
///
/// An origin is in one of these states:
///
/// - unknown: requests go over TCP.
/// - announced, for a while: the next request tries HTTP/3.
/// - being tried, by one request.
/// - spoken: requests go over its connection. Without a connection, the next request tries again.
/// - failed, for a while: requests go over TCP. Then it is announced again, if that still holds.
///
/// What moves it: `note` (an announcement, or its withdrawal), `way` (from announced, or from spoken without a
/// connection, to being tried) and `end`, with `.spoken`, `.failed` (a longer pause each time) or `.unknown` (a trial
/// that was canceled, or whose host was not found: announced again).
///
/// With `isAssumed`, every origin counts as announced, and requests need no trial: what libcurl has to open is opened
/// as in a trial, and what it has is used, whatever it is.
struct CurlHTTP3: Sendable {
    /// How a request goes.
    enum Way: Sendable {
        /// Over TCP.
        case usual
        /// On a new connection, of HTTP/3 or else over TCP.
        case trial
        /// On the connection of HTTP/3 that is there.
        case kept
        /// On any connection that is there, or else as a trial.
        case preferred
    }

    /// What the end of a request says about HTTP/3.
    enum Outcome: Sendable {
        case spoken, failed, unknown
    }

    private struct Origin {
        var announcedUntil: Instant?
        var pausedUntil: Instant?
        /// The failures since it was spoken last.
        var failures = 0
        var isTried = false
        var isSpoken = false

        func isKnown(at now: Instant) -> Bool {
            isTried || announcedUntil.map { now < $0 } == true || pausedUntil.map { now < $0 } == true
        }
    }

    /// How long the first pause is; each further one is twice as long as the one before.
    private static let firstPause = Duration.seconds(300)
    private static let longestPause = Duration.seconds(86_400)

    private let isAssumed: Bool
    private var origins: [UInt64: Origin] = [:]
    /// At this number of origins, those of which nothing is known any more are forgotten.
    private var sweepsAt = 1024

    init(isAssumed: Bool = false) {
        self.isAssumed = isAssumed
    }

    /// The number of origins of which something is known.
    var count: Int { origins.count }

    /// Returns how a request to that origin goes. `hasConnection` says whether a connection of HTTP/3 is there, and is
    /// only asked where that matters.
    mutating func way(to number: UInt64, at now: Instant, hasConnection: () -> Bool) -> Way {
        guard var origin = origins[number] else { return isAssumed ? .preferred : .usual }
        if let end = origin.pausedUntil, now < end { return .usual }
        guard !isAssumed else { return .preferred }
        guard let end = origin.announcedUntil, now < end else { return .usual }
        if origin.isSpoken, hasConnection() { return .kept }
        guard !origin.isTried else { return .usual }
        origin.isTried = true
        origins[number] = origin
        return .trial
    }

    /// Notes what a response of that origin says about it.
    mutating func note(_ alternatives: CurlAlternatives, of number: UInt64, at now: Instant) {
        guard !isAssumed else { return }
        switch alternatives {
        case .announced(let lifetime):
            if origins.count >= sweepsAt { sweep(now) }
            origins[number, default: Origin()].announcedUntil = now.advanced(by: lifetime)
        case .withdrawn:
            origins[number]?.announcedUntil = nil
            origins[number]?.isSpoken = false
        }
    }

    /// Notes what a request that went that way has shown, once for each.
    mutating func end(_ way: Way, _ outcome: Outcome, of number: UInt64, at now: Instant) {
        guard way != .usual else { return }
        if outcome == .failed, origins.count >= sweepsAt { sweep(now) }
        guard var origin = origins[number] ?? (outcome == .failed ? Origin() : nil) else { return }
        if way == .trial { origin.isTried = false }
        switch outcome {
        case .spoken:
            origin.isSpoken = true
            origin.failures = 0
            origin.pausedUntil = nil
        case .failed:
            origin.isSpoken = false
            // The other requests on a connection that has failed say nothing new.
            guard origin.pausedUntil.map({ now < $0 }) != true else { break }
            let pause = min(Self.firstPause * (1 << min(origin.failures, 9)), Self.longestPause)
            origin.failures += 1
            origin.pausedUntil = now.advanced(by: pause)
        case .unknown: break
        }
        origins[number] = origin
    }

    private mutating func sweep(_ now: Instant) {
        origins = origins.filter { $0.value.isKnown(at: now) }
        sweepsAt = max(1024, origins.count * 2)
    }
}
#endif
