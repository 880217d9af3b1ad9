#if os(Linux)
@testable import Errand
import ErrandTestSupport
import Testing

@Suite("Lines of requests to an origin") struct CurlLinesTests {
    /// Lines whose first places are taken, and the waiters that came after.
    private func full(_ places: Int, _ waiters: Int) throws -> (lines: CurlLines, waiters: [CurlLines.Waiter]) {
        var lines = CurlLines(connections: places, streams: places * 2)
        let joined = (0..<places + waiters).map { _ in lines.join(1) }
        #expect(joined.prefix(places).allSatisfy { $0 == nil })
        return (lines, try joined.dropFirst(places).map { waiter in try #require(waiter) })
    }

    // What changes the lines cannot stand within an expectation.

    private func enters(_ lines: inout CurlLines, _ origin: UInt64 = 1) -> Bool { lines.enter(origin) }

    private func ends(
        _ lines: inout CurlLines, _ origin: UInt64 = 1, usedHTTP2: Bool? = nil
    ) -> [CurlLines.Waiter] {
        lines.end(origin, usedHTTP2: usedHTTP2)
    }

    @Test("a place that is given back goes to the first in the line")
    func inOrder() throws {
        var (lines, waiters) = try full(2, 3)
        #expect(lines.waiting == 3 && lines.active == 2)
        #expect(!enters(&lines))
        for waiter in waiters {
            let next = lines.end(1)
            #expect(next.count == 1 && next.first === waiter)
        }
        #expect(lines.waiting == 0 && lines.active == 2)
        for _ in 0..<2 { #expect(ends(&lines).isEmpty) }
        #expect(lines.active == 0)
        #expect(enters(&lines))
    }

    @Test("one who leaves the line, wherever, is passed over")
    func leaving() throws {
        var (lines, waiters) = try full(1, 4)
        lines.leave(waiters[0])
        lines.leave(waiters[2])
        #expect(lines.waiting == 2)
        #expect(ends(&lines).first === waiters[1])
        // Its turn has come: there is nothing to leave.
        lines.leave(waiters[1])
        #expect(ends(&lines).first === waiters[3])
        #expect(ends(&lines).isEmpty && lines.active == 0)
    }

    @Test("origins have lines of their own")
    func origins() throws {
        var (lines, _) = try full(1, 1)
        #expect(enters(&lines, 2))
        #expect(ends(&lines, 2).isEmpty)
        #expect(lines.waiting == 1)
    }

    @Test("the first response over HTTP/2 makes room for more; one over HTTP/1.1 takes it back")
    func versions() throws {
        var (lines, waiters) = try full(2, 6)
        let next = lines.end(1, usedHTTP2: true)
        #expect(next.map(ObjectIdentifier.init) == waiters.prefix(3).map(ObjectIdentifier.init))
        #expect(lines.active == 4)
        // A failure says nothing about the version.
        #expect(ends(&lines).count == 1)
        for _ in 0..<2 { #expect(ends(&lines, usedHTTP2: false).isEmpty) }
        #expect(ends(&lines).count == 1)
        #expect(lines.active == 2 && lines.waiting == 1)
    }

    @Test("a connection that turns out to be one of HTTP/2 makes room at once")
    func connection() throws {
        var (lines, waiters) = try full(2, 6)
        let next = lines.noteHTTP2(of: 1)
        #expect(next.map(ObjectIdentifier.init) == waiters.prefix(2).map(ObjectIdentifier.init))
        #expect(lines.active == 4 && lines.waiting == 4)
        // Of an origin without a line there is nothing to note.
        let none = lines.noteHTTP2(of: 2)
        #expect(none.isEmpty)
    }

    @Test("a limit of nothing lets one through")
    func nothing() {
        var lines = CurlLines(connections: 0, streams: -1)
        #expect(enters(&lines))
        #expect(!enters(&lines))
    }

    @Test("lines that nobody uses are forgotten")
    func forgotten() {
        var lines = CurlLines(connections: 1, streams: 1)
        #expect(enters(&lines, 0))
        for origin in 1..<UInt64(10_000) {
            #expect(enters(&lines, origin))
            #expect(ends(&lines, origin).isEmpty)
        }
        #expect(lines.origins <= 1024)
        #expect(!enters(&lines, 0))
    }

    @Test("all waiters leave at the end")
    func cleared() throws {
        var (lines, waiters) = try full(1, 3)
        let cleared = lines.clear()
        #expect(Set(cleared.map(ObjectIdentifier.init)) == Set(waiters.map(ObjectIdentifier.init)))
        #expect(lines.waiting == 0 && lines.active == 1)
        #expect(ends(&lines).isEmpty)
    }
}
#endif
