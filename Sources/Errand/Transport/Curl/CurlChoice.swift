#if os(Linux)
import CCurl

/// Which loop of a transport a request goes to. A loop is a thread and the connections that it works on.
///
/// A request goes
///
/// 1. to the home of its origin, if requests share a connection there, or may turn out to;
/// 2. or else to where a connection to its origin is kept;
/// 3. or else to where the fewest are active; to a loop that has yet to open, if each has enough of them.
///
/// A loop that is held up gets no request while there is another. Among several, a loop that the request prefers comes
/// first.
struct CurlChoice {
    /// The greatest number of loops.
    static let limit = Int(CCURL_MOST_LOOPS)
    /// So many active requests make another loop worth it.
    static let enough = 16
    /// At this number of origins, all are forgotten. Their connections serve the requests that come to their loops.
    private static let mostOrigins = 1024

    /// Where a request is, and what it was thought to find there.
    struct Place: Sendable {
        let loop: Int
        fileprivate let origin: UInt64
        fileprivate let isOnKept: Bool
    }

    /// What has become of a request that has ended.
    enum Outcome {
        /// It has used no connection.
        case unused
        /// It has opened a connection, or used one that was kept; and it leaves one of HTTP/1.1 for the next, or none.
        case used(isNew: Bool, leaves: Bool)
    }

    /// The numbers of some loops.
    struct Numbers: ExpressibleByArrayLiteral {
        private var bits: UInt8 = 0

        init(arrayLiteral numbers: Int...) {
            for number in numbers { insert(number) }
        }

        mutating func insert(_ number: Int) { bits |= 1 << UInt8(number) }

        func contains(_ number: Int) -> Bool { bits & 1 << UInt8(number) != 0 }
    }

    private struct Loop {
        var active = 0
        var isOpen = false
    }

    private struct Origin {
        var home: Int?
        /// How many connections of HTTP/1.1 each loop keeps. The type takes no constant; its number is `limit`.
        var kept = InlineArray<8, Int32>(repeating: 0)
    }

    private var loops: [Loop]
    private var origins: [UInt64: Origin] = [:]

    /// Chooses among so many loops, of which the first is open.
    init(most: Int) {
        loops = Array(repeating: Loop(), count: min(max(most, 1), Self.limit))
        loops[0].isOpen = true
    }

    /// The greatest number of loops.
    var most: Int { loops.count }
    /// The number of loops that are open.
    var openCount: Int { loops.count { $0.isOpen } }
    /// The number of active requests of each loop that is open.
    var active: [Int] { loops.filter(\.isOpen).map(\.active) }
    /// The number of origins of which something is known.
    var count: Int { origins.count }

    /// Chooses the loop of a request, which is active from now on, and opens the loop if need be.
    ///
    /// `mayShare` is whether requests to its origin share a connection, or may turn out to. `heldUp` are the loops
    /// that have not come back for long.
    mutating func choose(
        for number: UInt64, mayShare: Bool, preferring preferred: Int? = nil, heldUp: Numbers = []
    ) -> Place {
        let origin = origins[number]
        if mayShare {
            if let home = origin?.home, loops[home].isOpen, !heldUp.contains(home) { return place(number, on: home) }
            let loop = freest(preferring: preferred, heldUp)
            // One that is held up for once stays the home.
            if origin?.home.map({ !loops[$0].isOpen }) ?? true { change(number) { $0.home = loop } }
            return place(number, on: loop)
        }
        if let origin, let loop = keeping(origin, preferring: preferred, heldUp) {
            change(number) { $0.kept[loop] -= 1 }
            return place(number, on: loop, isOnKept: true)
        }
        return place(number, on: freest(preferring: preferred, heldUp))
    }

    private mutating func place(_ origin: UInt64, on loop: Int, isOnKept: Bool = false) -> Place {
        loops[loop].isOpen = true
        loops[loop].active += 1
        return Place(loop: loop, origin: origin, isOnKept: isOnKept)
    }

    /// The loop that keeps a connection to the origin.
    private func keeping(_ origin: Origin, preferring preferred: Int?, _ heldUp: Numbers) -> Int? {
        let isKeeping = { loop in origin.kept[loop] > 0 && isReady(loop, heldUp) }
        if let preferred, isKeeping(preferred) { return preferred }
        return fewest(where: isKeeping)
    }

    /// The loop for a request that finds no connection.
    private func freest(preferring preferred: Int?, _ heldUp: Numbers) -> Int {
        if let preferred, isReady(preferred, heldUp), loops[preferred].active < Self.enough { return preferred }
        let ready = fewest { isReady($0, heldUp) }
        if let ready, loops[ready].active < Self.enough { return ready }
        return loops.firstIndex { !$0.isOpen } ?? ready ?? fewest { loops[$0].isOpen } ?? 0
    }

    private func isReady(_ loop: Int, _ heldUp: Numbers) -> Bool {
        loops[loop].isOpen && !heldUp.contains(loop)
    }

    /// The first of these loops among those with the fewest active requests.
    private func fewest(where isCandidate: (Int) -> Bool) -> Int? {
        var fewest: Int?
        for loop in loops.indices where isCandidate(loop) {
            if fewest.map({ loops[loop].active < loops[$0].active }) ?? true { fewest = loop }
        }
        return fewest
    }

    /// Moves a request to the first loop, because its own could not be opened.
    mutating func moveToFirst(_ place: Place) -> Place {
        end(place, .unused)
        close(place.loop)
        return self.place(place.origin, on: 0)
    }

    /// Notes that a request has ended.
    mutating func end(_ place: Place, _ outcome: Outcome) {
        loops[place.loop].active -= 1
        switch outcome {
        case .unused:
            if place.isOnKept { change(place.origin) { $0.kept[place.loop] += 1 } }
        case .used(let isNew, let leaves):
            let isSurprise = isNew == place.isOnKept
            guard isSurprise || leaves else { return }
            change(place.origin) { origin in
                if isSurprise {
                    // The server has closed what was kept, or there was more than was known.
                    origin.kept[place.loop] = isNew ? 0 : max(0, origin.kept[place.loop] - 1)
                }
                if leaves { origin.kept[place.loop] += 1 }
            }
        }
    }

    /// Notes that requests to the origin turn out to share the connection that this one has: the others go there too.
    mutating func gather(at place: Place) {
        change(place.origin) { origin in
            origin.home = place.loop
            origin.kept = InlineArray(repeating: 0)
        }
    }

    /// Opens another loop, and returns it; `nil` if there are as many as may be.
    mutating func open() -> Int? {
        let next = loops.indices.first { !loops[$0].isOpen }
        if let next { loops[next].isOpen = true }
        return next
    }

    /// Closes a loop. Returns `false` if it stays open, because it is the first or something is active there.
    @discardableResult
    mutating func close(_ loop: Int) -> Bool {
        guard loop > 0, loops[loop].active == 0 else { return false }
        loops[loop].isOpen = false
        for number in origins.keys { origins[number]?.kept[loop] = 0 }
        return true
    }

    private mutating func change(_ number: UInt64, _ change: (inout Origin) -> Void) {
        if origins.count >= Self.mostOrigins, origins[number] == nil { origins = [:] }
        change(&origins[number, default: Origin()])
    }
}
#endif
