#if os(Linux)
/// Which requests may look up their hosts: one at a time for each origin. The others wait for its outcome.
///
/// libcurl starts a thread for each lookup, and a name server that does not respond holds it for many seconds, even if
/// no request waits for it any more. After a lookup libcurl knows the address for a minute, and requests need none.
///
/// Where requests may turn out to share connections, the lookup lasts until the leader has its connection: see
/// `CurlMultiplexing`.
///
/// An origin is in one of these states:
///
/// - unknown: the next request looks its host up.
/// - being looked up, by a request (`leader`) or for none any more: further requests wait.
/// - known, for a while: requests do not wait.
///
/// What moves it: `begin` (unknown, or known for too long, to being looked up) and `end`, with `.found` or `.reused`
/// (to known), `.failed` (to unknown; those who wait fail too) or `.none` (the first of those who wait looks it up). A
/// request that waits can leave; a leader can abandon its lookup, which goes on. A connection to the origin that
/// becomes free in that time lets one request through.
struct CurlLookups<Request: Hashable> {
    /// How a lookup has ended: with an address, with a connection that was kept, without an address, or not at all.
    enum Outcome {
        case found, reused, failed, none
    }

    /// The minute for which libcurl knows an address. If it were less, the next leader would look nothing up, and
    /// libcurl would forget the address while it counts as known.
    private static var memory: Duration { .seconds(60) }
    /// How long requests do not wait after one that has found a connection: it says nothing about the address.
    private static var shortMemory: Duration { .seconds(1) }

    private enum State {
        case underway(Underway)
        case known(until: Instant)
    }

    private struct Underway {
        var leader: Request?
        /// Those who wait, by their places.
        var waiting: [Int: Request] = [:]
        var next = 0
        /// The connections that have become free, and that no request has waited for.
        var free = 0
    }

    private var states: [UInt64: State] = [:]
    /// The requests that look up the hosts of these origins.
    private(set) var leaders: [Request: UInt64] = [:]
    /// The places of those who wait.
    private var places: [Request: (origin: UInt64, place: Int)] = [:]
    /// At this number of origins, those that are known no longer are forgotten.
    private var sweepsAt = 1024

    /// The number of origins of which something is known.
    var origins: Int { states.count }

    /// Returns whether the request may begin. If not, it waits.
    mutating func begin(_ request: Request, to origin: UInt64, at now: Instant) -> Bool {
        if case .known(let end) = states[origin], now < end { return true }
        let place: Int?? = change(origin) { lookup in
            guard lookup.free == 0 else {
                lookup.free -= 1
                return nil
            }
            lookup.waiting[lookup.next] = request
            defer { lookup.next += 1 }
            return lookup.next
        }
        if let place {
            if let place { places[request] = (origin, place) }
            return place == nil
        }
        if states.count >= sweepsAt { sweep(now) }
        leaders[request] = origin
        states[origin] = .underway(Underway(leader: request))
        return true
    }

    /// Removes a request that waits. Returns whether it did.
    mutating func leave(_ request: Request) -> Bool {
        guard let (origin, place) = places.removeValue(forKey: request) else { return false }
        change(origin) { $0.waiting[place] = nil }
        return true
    }

    /// Notes that a request has ended whose lookup goes on.
    mutating func abandon(_ request: Request) {
        guard let origin = leaders.removeValue(forKey: request) else { return }
        change(origin) { $0.leader = nil }
    }

    /// Notes that a connection to the origin has become free. Returns the first request that waits, which may use it.
    mutating func noteFree(_ origin: UInt64) -> Request? {
        let first: Request?? = change(origin) { lookup in
            guard let place = lookup.waiting.keys.min() else {
                lookup.free += 1
                return nil
            }
            return lookup.waiting.removeValue(forKey: place)
        }
        if case let request?? = first {
            places[request] = nil
            return request
        }
        return nil
    }

    /// Ends the lookup of an origin by that leader, or of one that was abandoned. Returns the requests that have waited
    /// and now begin, or fail likewise.
    mutating func end(
        _ origin: UInt64, by leader: Request?, with outcome: Outcome, at now: Instant
    ) -> [Request] {
        guard case .underway(let lookup) = states[origin], lookup.leader == leader else { return [] }
        if let leader { leaders[leader] = nil }
        let others = lookup.waiting.sorted { $0.key < $1.key }.map(\.value)
        states[origin] =
            switch outcome {
            case .found: .known(until: now.advanced(by: Self.memory))
            case .reused: .known(until: now.advanced(by: Self.shortMemory))
            case .failed, .none: nil
            }
        for request in others { places[request] = nil }
        guard outcome == .none else { return others }
        // The first looks the host up, and the others wait for that.
        return others.filter { begin($0, to: origin, at: now) }
    }

    /// Changes the lookup of an origin, if one is under way.
    @discardableResult
    private mutating func change<Value>(_ origin: UInt64, _ change: (inout Underway) -> Value) -> Value? {
        guard case .underway(var lookup) = states[origin] else { return nil }
        // Not copied while it is changed.
        states[origin] = nil
        defer { states[origin] = .underway(lookup) }
        return change(&lookup)
    }

    private mutating func sweep(_ now: Instant) {
        states = states.filter { state in
            if case .known(let end) = state.value { now < end } else { true }
        }
        sweepsAt = max(1024, states.count * 2)
    }
}
#endif
