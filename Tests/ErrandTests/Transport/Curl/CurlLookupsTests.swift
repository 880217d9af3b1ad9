#if os(Linux)
@testable import Errand
import ErrandTestSupport
import Testing

@Suite("Requests that look up their hosts") struct CurlLookupsTests {
    private let start = Instant.zero

    /// Lookups in which request 0 looks up the host of origin 1, and as many others wait.
    private func waiting(_ count: Int) -> CurlLookups<Int> {
        var lookups = CurlLookups<Int>()
        #expect(begins(0, &lookups))
        for request in 0..<count { #expect(!begins(request + 1, &lookups)) }
        return lookups
    }

    // What changes the lookups cannot stand within an expectation.

    private func begins(
        _ request: Int, to origin: UInt64 = 1, _ lookups: inout CurlLookups<Int>, at now: Instant = .zero
    ) -> Bool {
        lookups.begin(request, to: origin, at: now)
    }

    private func ends(
        _ origin: UInt64 = 1, by leader: Int?, with outcome: CurlLookups<Int>.Outcome,
        _ lookups: inout CurlLookups<Int>
    ) -> [Int] {
        lookups.end(origin, by: leader, with: outcome, at: start)
    }

    /// Returns all who may begin now.
    private func next(_ lookups: inout CurlLookups<Int>) -> [Int] {
        var all: [Int] = []
        while let request = lookups.next() { all.append(request) }
        return all
    }

    @Test("one looks the host up; with an address all others begin, in the order they came")
    func found() {
        var lookups = waiting(20)
        #expect(lookups.leaders == [0: 1])
        #expect(ends(by: 0, with: .found, &lookups) == Array(1...20))
        #expect(lookups.leaders.isEmpty)
        #expect(ends(by: 0, with: .found, &lookups).isEmpty)
    }

    @Test(
        "an address is known for a minute, and after a connection that was kept, requests do not wait for a second",
        arguments: [(CurlLookups<Int>.Outcome.found, 60.0), (.reused, 1.0)])
    func known(outcome: CurlLookups<Int>.Outcome, seconds: Double) {
        var lookups = waiting(0)
        #expect(ends(by: 0, with: outcome, &lookups).isEmpty)
        for request in 1...3 { #expect(begins(request, &lookups, at: start.advanced(by: .seconds(seconds - 0.1)))) }
        #expect(lookups.leaders.isEmpty)
        let late = start.advanced(by: .seconds(seconds + 0.1))
        #expect(begins(4, &lookups, at: late))
        #expect(!begins(5, &lookups, at: late))
        #expect(lookups.leaders == [4: 1])
    }

    @Test("a failure reaches all who wait, and the next request tries again")
    func failed() {
        var lookups = waiting(2)
        #expect(ends(by: 0, with: .failed, &lookups) == [1, 2])
        #expect(begins(3, &lookups))
        #expect(lookups.leaders == [3: 1])
    }

    @Test("after a request that neither found nor failed, the next one looks the host up")
    func handedOn() {
        var lookups = waiting(3)
        #expect(ends(by: 0, with: .none, &lookups) == [1])
        #expect(lookups.leaders == [1: 1])
        #expect(ends(by: 1, with: .found, &lookups) == [2, 3])
    }

    @Test("one that leaves while it waits is passed over")
    func leaving() {
        var lookups = waiting(3)
        let left = [0, 2, 2].map { lookups.leave($0) }
        // The first is not waiting, but looking up.
        #expect(left == [false, true, false])
        #expect(ends(by: 0, with: .found, &lookups) == [1, 3])
        let hasLeft = lookups.leave(1)
        #expect(!hasLeft)
    }

    @Test("an abandoned lookup goes on: further requests wait for it, and nobody else ends it")
    func abandoned() {
        var lookups = waiting(1)
        lookups.abandon(0)
        #expect(lookups.leaders.isEmpty)
        #expect(!begins(2, &lookups))
        #expect(ends(by: 0, with: .found, &lookups).isEmpty)
        #expect(ends(by: nil, with: .found, &lookups) == [1, 2])
        // Nothing was abandoned any more.
        #expect(ends(by: nil, with: .failed, &lookups).isEmpty)
        #expect(begins(3, &lookups) && lookups.leaders.isEmpty)
    }

    @Test("a connection that becomes free during a lookup lets one request through: one that waits, or the next")
    func free() {
        var lookups = waiting(2)
        var through = (0..<3).map { _ in lookups.noteFree(1) }
        #expect(through == [1, 2, nil])
        #expect(begins(3, &lookups) && !begins(4, &lookups))
        #expect(ends(by: 0, with: .failed, &lookups) == [4])
        through = [lookups.noteFree(1)]
        #expect(through == [nil] && begins(5, &lookups) && lookups.leaders == [5: 1])
    }

    @Test("L7: another can take over from who looks the host up, who then changes nothing any more")
    func overtaken() {
        var lookups = waiting(2)
        #expect(lookups.leader(of: 1) == 0)
        #expect(ends(by: 0, with: .none, &lookups) == [1])
        #expect(lookups.leader(of: 1) == 1 && lookups.leader(of: 2) == nil)
        // The first comes back.
        lookups.noteAddress(by: 0)
        lookups.abandon(0)
        #expect(ends(by: 0, with: .failed, &lookups).isEmpty && ends(by: nil, with: .found, &lookups).isEmpty)
        #expect(lookups.leader(of: 1) == 1)
        #expect(ends(by: 1, with: .found, &lookups) == [2] && lookups.isEmpty)
    }

    @Test("of many hosts, some are looked up at a time, and the others follow in the order they came")
    func line() {
        var lookups = CurlLookups<Int>(most: 2)
        let begun = (1...5).map { begins($0, to: UInt64($0), &lookups) }
        #expect(begun == [true, true, false, false, false])
        #expect(!begins(13, to: 3, &lookups) && next(&lookups).isEmpty)
        // A host without a name needs no lookup.
        let withoutName = lookups.begin(6, to: 6, hasName: false, at: start)
        #expect(withoutName)
        // One leaves, and one whose lookup is abandoned holds its place.
        let hasLeft = lookups.leave(4)
        lookups.abandon(1)
        #expect(hasLeft && next(&lookups).isEmpty)
        // The next request to a host that was looked up in vain goes to the end.
        #expect(!begins(12, to: 2, &lookups))
        #expect(ends(2, by: 2, with: .none, &lookups).isEmpty)
        #expect(next(&lookups) == [3] && lookups.leaders == [3: 3, 6: 6])
        // As soon as the address is there, though the connection is not.
        lookups.noteAddress(by: 3)
        lookups.noteAddress(by: 3)
        #expect(next(&lookups) == [5])
        #expect(ends(3, by: 3, with: .found, &lookups) == [13] && next(&lookups).isEmpty)
        #expect(ends(1, by: nil, with: .found, &lookups).isEmpty && next(&lookups) == [12])
        #expect(ends(5, by: 5, with: .failed, &lookups).isEmpty)
        #expect(ends(2, by: 12, with: .found, &lookups).isEmpty && next(&lookups).isEmpty)
        #expect(begins(7, to: 7, &lookups) && begins(8, to: 8, &lookups) && !begins(9, to: 9, &lookups))
    }

    @Test("connections that become free let those in line through, too")
    func freeInLine() {
        var lookups = CurlLookups<Int>(most: 1)
        #expect(begins(1, &lookups) && !begins(2, to: 2, &lookups) && !begins(3, to: 3, &lookups))
        let through = lookups.noteFree(2)
        #expect(through == 2 && next(&lookups).isEmpty)
        #expect(ends(by: 1, with: .found, &lookups).isEmpty)
        #expect(next(&lookups) == [3])
        #expect(lookups.origins == 2)
    }

    @Test("a request that leaves the line takes its place along, and those behind it move up")
    func leavingLine() {
        var lookups = CurlLookups<Int>(most: 1)
        #expect(begins(1, &lookups))
        for request in 2..<1000 {
            #expect(!begins(request, to: UInt64(request), &lookups))
            let hasLeft = request > 2 && lookups.leave(request)
            #expect(hasLeft == (request > 2))
        }
        #expect(lookups.origins == 2)
        #expect(ends(by: 1, with: .failed, &lookups).isEmpty)
        #expect(next(&lookups) == [2] && lookups.origins == 1)
    }

    @Test("origins do not wait for each other, and those that are known no longer are forgotten")
    func origins() {
        var lookups = waiting(1)
        for origin in 2..<UInt64(5000) {
            let now = start.advanced(by: .seconds(Double(origin)))
            #expect(begins(Int(origin), to: origin, &lookups, at: now))
            let next = lookups.end(origin, by: Int(origin), with: .found, at: now)
            #expect(next.isEmpty)
        }
        #expect(lookups.origins <= 1025)
        #expect(ends(by: 0, with: .found, &lookups) == [1])
    }
}
#endif
