#if os(Linux)
/// Which requests may look up their hosts: one at a time for each origin, and those of some origins at a time. The
/// others wait for its outcome, or in line.
///
/// libcurl starts a thread for each lookup, and a name server that does not respond holds it for many seconds, even if
/// no request waits for it any more, or the transport is shut down. After a lookup libcurl knows the address for a
/// minute, and requests need none.
///
/// Where requests may turn out to share connections, the lookup lasts until the leader has its connection: see
/// `CurlMultiplexing`.
///
/// An origin is in one of these states:
///
/// - unknown: the next request looks its host up.
/// - in line: as many lookups are under way as may be; all its requests wait.
/// - being looked up, by a request (`leader`) or for none any more: further requests wait.
/// - known, for a while: requests do not wait.
///
/// What moves it: `begin` (unknown, or known for too long, to being looked up or in line), `next` (in line to being
/// looked up) and `end`, with `.found` or `.reused` (to known), `.failed` (to unknown; those who wait fail too) or
/// `.none` (the first of those who wait looks it up, after those in line). A request that waits can leave; a leader can
/// abandon its lookup, which goes on. A connection to the origin that becomes free in that time lets one request
/// through.
struct CurlLookups<Request: Hashable & Sendable>: Sendable {
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
        /// Its place in line; `nil` once its lookup has begun.
        var place: Int?
        /// Whether its host has a name, and whether that may be being looked up now.
        let hasName: Bool
        var isCounted = false
        /// Those who wait, by their places.
        var waiting: [Int: Request] = [:]
        var next = 0
        /// The connections that have become free, and that no request has waited for.
        var free = 0
    }

    /// How many lookups are under way at most: more than programs call hosts for the first time at once, and few enough
    /// threads if all of them hang.
    private let most: Int
    private var counted = 0
    /// The origins in line, by their places. No origin has a lower place than the first of these, and the next one gets
    /// the second.
    private var line: [Int: UInt64] = [:]
    private var (first, end) = (0, 0)
    private var states: [UInt64: State] = [:]
    /// How many of them are lookups that are under way, or in line.
    private var underway = 0
    /// The requests that look up the hosts of these origins.
    private(set) var leaders: [Request: UInt64] = [:]
    /// The places of those who wait.
    private var places: [Request: (origin: UInt64, place: Int)] = [:]
    /// At this number of origins, those that are known no longer are forgotten.
    private var sweepsAt = 1024

    init(most: Int = 32) {
        self.most = most
    }

    /// The number of origins of which something is known.
    var origins: Int { states.count }
    /// Whether no host is being looked up, and no request waits.
    var isEmpty: Bool { underway == 0 }
    /// The requests that wait.
    var waiting: [Request] { Array(places.keys) }

    /// The request that looks up the host of that origin.
    func leader(of origin: UInt64) -> Request? {
        if case .underway(let lookup) = states[origin] { lookup.leader } else { nil }
    }

    /// Returns whether the request may begin. If not, it waits. `hasName` is whether its host has to be looked up.
    mutating func begin(
        _ request: Request, to origin: UInt64, hasName: Bool = true, at now: Instant
    ) -> Bool {
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
        var lookup = Underway(hasName: hasName)
        // No request overtakes those in line, not even the next one to an origin that was just looked up in vain.
        guard !hasName || (counted < most && line.isEmpty) else {
            lookup.place = end
            lookup.waiting = [0: request]
            lookup.next = 1
            line[end] = origin
            end += 1
            places[request] = (origin, 0)
            set(origin, to: .underway(lookup))
            return false
        }
        lead(request, to: origin, &lookup)
        return true
    }

    /// Returns the next request in line, if it may begin.
    mutating func next() -> Request? {
        while counted < most, !line.isEmpty {
            first += 1
            guard let origin = line.removeValue(forKey: first - 1), case .underway(var lookup) = states[origin] else {
                continue
            }
            guard let place = lookup.waiting.keys.min(), let request = lookup.waiting.removeValue(forKey: place) else {
                // All have begun on connections that became free.
                set(origin, to: nil)
                continue
            }
            places[request] = nil
            lookup.place = nil
            lead(request, to: origin, &lookup)
            return request
        }
        return nil
    }

    private mutating func lead(_ request: Request, to origin: UInt64, _ lookup: inout Underway) {
        lookup.leader = request
        lookup.isCounted = lookup.hasName
        if lookup.isCounted { counted += 1 }
        leaders[request] = origin
        set(origin, to: .underway(lookup))
    }

    /// Notes that the host that this request has looked up is not being looked up any more.
    mutating func noteAddress(by leader: Request) {
        guard let origin = leaders[leader] else { return }
        change(origin) { lookup in
            defer { lookup.isCounted = false }
            return lookup.isCounted
        }.map { if $0 { counted -= 1 } }
    }

    /// Removes a request that waits. Returns whether it did.
    mutating func leave(_ request: Request) -> Bool {
        guard let (origin, place) = places.removeValue(forKey: request) else { return false }
        let inLine: Int?? = change(origin) { lookup in
            lookup.waiting[place] = nil
            return lookup.waiting.isEmpty ? lookup.place : nil
        }
        if case let placeInLine?? = inLine {
            line[placeInLine] = nil
            set(origin, to: nil)
        }
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
        guard case .underway(let lookup) = states[origin], lookup.leader == leader, lookup.place == nil else {
            return []
        }
        if let leader { leaders[leader] = nil }
        if lookup.isCounted { counted -= 1 }
        let others = lookup.waiting.sorted { $0.key < $1.key }.map(\.value)
        let state: State? =
            switch outcome {
            case .found: .known(until: now.advanced(by: Self.memory))
            case .reused: .known(until: now.advanced(by: Self.shortMemory))
            case .failed, .none: nil
            }
        set(origin, to: state)
        for request in others { places[request] = nil }
        guard outcome == .none else { return others }
        // The first looks the host up, and the others wait for that.
        return others.filter { begin($0, to: origin, hasName: lookup.hasName, at: now) }
    }

    private mutating func set(_ origin: UInt64, to state: State?) {
        if case .underway = states[origin] { underway -= 1 }
        if case .underway = state { underway += 1 }
        states[origin] = state
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
