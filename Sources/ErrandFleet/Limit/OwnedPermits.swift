import Errand

/// The permits of a shared limit that this node owns, as a value over explicit instants.
///
/// The node applies the rule of a single machine to them: a permit that was taken is usable again one period later. It
/// owns them under its name until ``end``, and takes none after it. The number changes while calls wait: `RateLimiter`
/// serves them then.
struct OwnedPermits: PermitSource {
    /// The least time between taking a permit and the end of the node's lifetime. A send that is prepared within this
    /// time reads the clock once.
    private static let margin: Int64 = 1_000_000
    /// A delay up to which the instants of taking and sending are the same. It is a small part of what the period is
    /// longer than the limit's.
    private static let tolerance: Int64 = 100_000

    static let permitsEnd = true

    private var window: RollingWindow
    /// The permits of the whole limit, and its period, for bounds.
    private var limit: Int
    private let period: Duration
    private let grace: Duration
    private let lifetime: Duration
    private let isSmooth: Bool
    /// The name under which the node owns them.
    private var owner: String
    /// When the node no longer owns them, by its own clock; renewals move it on.
    private(set) var end = Instant(nanoseconds: .min)
    /// How many of the permits the node itself may have out. The rest goes to other nodes as soon as it is back.
    var share = Int.max

    init(_ settings: SharedLimitSettings, owner: String) {
        limit = max(1, settings.permits)
        period = settings.period
        grace = settings.grace
        lifetime = settings.lifetime
        isSmooth = settings.isSmooth
        self.owner = owner
        window = RollingWindow(permits: 0, period: period, isSmooth: isSmooth)
    }

    /// Notes under which name the node owns the permits, and until when. What it has taken under another name no longer
    /// counts, and can no longer be used.
    mutating func belong(to owner: String, until end: Instant) {
        if owner != self.owner {
            window = RollingWindow(permits: 0, period: period, isSmooth: isSmooth)
            share = .max
        }
        (self.owner, self.end) = (owner, end)
    }

    /// Accepts another number of permits of the whole limit.
    mutating func change(_ settings: SharedLimitSettings) { limit = max(1, settings.permits) }

    /// Counts whatever the node owns as taken at that instant, because it is not known what has been.
    mutating func takeAll(at now: Instant) {
        // More than any node owns. With that many permits, those of a smooth limit have no space between them.
        let all = 1 << 40
        window.setPermits(all)
        window.take(all, at: now)
        window.setPermits(0)
    }

    /// The number of permits that the node owns.
    var owned: Int {
        get { window.permits }
        set { window.setPermits(newValue) }
    }

    /// Returns how many permits are out.
    func out(at now: Instant) -> Int { min(window.out(at: now), window.permits) }

    /// Returns how many permits are not out: what may be given to another node.
    func unused(at now: Instant) -> Int { max(0, window.permits - window.out(at: now)) }

    /// Returns how many permits were taken in the last lifetime, and are out.
    func recent(at now: Instant) -> Int {
        min(window.out(at: now.advanced(by: max(.zero, period - lifetime))), window.permits)
    }

    /// Returns how many permits come back within that time.
    private func due(in wait: Duration, at now: Instant) -> Int {
        max(0, window.out(at: now) - window.out(at: now.advanced(by: wait)))
    }

    /// Returns how many permits come back soon enough for calls to wait for them.
    func dueSoon(at now: Instant) -> Int { due(in: grace, at: now) }

    /// Returns the same for calls of a node that has asked others a short while ago.
    func dueLater(at now: Instant) -> Int { due(in: grace * 2, at: now) }

    /// Returns when the next permits come back; `nil` if none are out.
    func nextReturn(after now: Instant) -> Instant? { window.nextReturn(after: now) }

    // Nanoseconds, because each call asks.
    private func isOwner(at now: Instant) -> Bool { end.nanoseconds > Self.margin + now.nanoseconds }

    /// The permits that are reserved for others.
    private var reserved: Int { max(0, window.permits - share) }

    func available(at now: Instant) -> Int? {
        isOwner(at: now) ? max(0, window.available(at: now) - reserved) : 0
    }

    func earliest(taking cost: Int, at now: Instant) -> Instant? {
        isOwner(at: now) ? window.earliest(taking: cost + reserved, at: now) : nil
    }

    /// Other nodes may give theirs up at any moment, so the bound is that of the whole limit.
    func earliest(taking cost: Int, after ahead: Int, at now: Instant) -> Instant {
        let (last, overflow) = ahead.addingReportingOverflow(max(1, cost) - 1)
        guard !overflow else { return .distantFuture }
        let (wait, tooLong) = period.wholeNanoseconds.multipliedReportingOverflow(by: Int64(last / limit))
        return tooLong ? .distantFuture : now.advanced(by: .nanoseconds(wait))
    }

    mutating func take(_ cost: Int, at now: Instant) -> Bool {
        guard cost > 0 else { return cost == 0 }
        guard isOwner(at: now), window.available(at: now) - reserved >= cost else { return false }
        window.take(cost, at: now)
        return true
    }

    /// A permit whose node has lost it in the meantime is not used.
    mutating func renew(_ cost: Int, takenAt instant: Instant, at now: Instant) -> Bool {
        guard isOwner(at: now), window.permits >= cost, window.holds(cost, takenAt: instant, at: now) else {
            return false
        }
        // Usually it is used at once.
        if now.nanoseconds - instant.nanoseconds > Self.tolerance {
            window.renew(cost, takenAt: instant, at: now)
        }
        return true
    }

    /// A request that leaves later would do so with a permit that is another node's, or that this node uses again.
    func end(usedAt instant: Instant) -> Instant { min(end, instant.advanced(by: period)) }

    mutating func giveBack(_ cost: Int, takenAt instant: Instant) {
        window.giveBack(cost, takenAt: instant)
    }

    mutating func drain(until instant: Instant) { window.drain(until: instant) }
}

extension LimitNode.Need {
    /// What a node needs whose calls do not wait.
    init(_ permits: OwnedPermits, at now: Instant) {
        self.init(
            out: permits.out(at: now), unused: permits.unused(at: now), recent: permits.recent(at: now),
            dueSoon: permits.dueSoon(at: now), dueLater: permits.dueLater(at: now),
            nextReturn: permits.nextReturn(after: now))
    }
}
