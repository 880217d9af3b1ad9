#if os(Linux)
@testable import Errand
import ErrandTestSupport
import Testing

@Suite("Queues of requests to an origin") struct CurlQueuesTests {
    private func key(_ origin: UInt64, of client: AnyObject? = nil) -> CurlQueues.Key {
        CurlQueues.Key(origin: origin, client: client.map(TransportContext.Client.init))
    }

    /// Queues whose first places are taken, and the waiters that came after.
    private func full(_ places: Int, _ waiters: Int) throws -> (queues: CurlQueues, waiters: [CurlQueues.Waiter]) {
        var queues = CurlQueues(connections: places, streams: places * 2)
        let joined = (0..<places + waiters).map { _ in queues.join(key(1)) }
        #expect(joined.prefix(places).allSatisfy { $0 == nil })
        return (queues, try joined.dropFirst(places).map { waiter in try #require(waiter) })
    }

    // What changes the queues cannot stand within an expectation.

    private func enters(_ queues: inout CurlQueues, _ origin: UInt64 = 1) -> Bool { queues.enter(key(origin)) }

    private func ends(
        _ queues: inout CurlQueues, _ origin: UInt64 = 1, hasStreams: Bool? = nil
    ) -> [CurlQueues.Waiter] {
        queues.end(key(origin), hasStreams: hasStreams)
    }

    @Test("a place that is given back goes to the first in the queue")
    func inOrder() throws {
        var (queues, waiters) = try full(2, 3)
        #expect(queues.waiting == 3 && queues.active == 2)
        #expect(!enters(&queues))
        for waiter in waiters {
            let next = queues.end(key(1))
            #expect(next.count == 1 && next.first === waiter)
        }
        #expect(queues.waiting == 0 && queues.active == 2)
        for _ in 0..<2 { #expect(ends(&queues).isEmpty) }
        #expect(queues.active == 0)
        #expect(enters(&queues))
    }

    @Test("one who leaves the queue, wherever, is passed over")
    func leaving() throws {
        var (queues, waiters) = try full(1, 4)
        queues.leave(waiters[0])
        queues.leave(waiters[2])
        #expect(queues.waiting == 2)
        #expect(ends(&queues).first === waiters[1])
        // Its turn has come: there is nothing to leave.
        queues.leave(waiters[1])
        #expect(ends(&queues).first === waiters[3])
        #expect(ends(&queues).isEmpty && queues.active == 0)
    }

    @Test("origins have queues of their own")
    func origins() throws {
        var (queues, _) = try full(1, 1)
        #expect(enters(&queues, 2))
        #expect(ends(&queues, 2).isEmpty)
        #expect(queues.waiting == 1)
    }

    @Test("clients have queues of their own; that an origin speaks HTTP/2 holds for all of them")
    func clients() throws {
        final class Client {}
        let (one, other) = (Client(), Client())
        var queues = CurlQueues(connections: 1, streams: 2)
        let keys = [key(1, of: one), key(1, of: other), key(1)]
        let joined = (keys + keys).map { queues.join($0) }
        #expect(joined.prefix(3).allSatisfy { $0 == nil })
        let waiters = try joined.dropFirst(3).map { waiter in try #require(waiter) }
        #expect(queues.active == 3 && queues.waiting == 3)
        let next = queues.end(keys[1])
        #expect(next.map(ObjectIdentifier.init) == [ObjectIdentifier(waiters[1])])
        let others = queues.noteStreams(of: 1)
        #expect(Set(others.map(ObjectIdentifier.init)) == Set([waiters[0], waiters[2]].map(ObjectIdentifier.init)))
        // A client that comes later uses the same connection, and is not told of it.
        let late = Client()
        let entered = (0..<3).map { _ in queues.enter(key(1, of: late)) }
        #expect(entered == [true, true, false])
    }

    @Test("one who leaves a queue that was forgotten meanwhile does not take another's place in the new one")
    func leavingLate() throws {
        var (queues, waiters) = try full(1, 1)
        // The turn of the waiter comes, and is over.
        for _ in 0..<2 { _ = ends(&queues) }
        for origin in 2..<UInt64(3000) where enters(&queues, origin) { _ = ends(&queues, origin) }
        #expect(queues.count < 2999)
        #expect(enters(&queues))
        let joined = queues.join(key(1))
        let late = try #require(joined)
        queues.leave(waiters[0])
        #expect(queues.waiting == 1)
        #expect(ends(&queues).first === late)
    }

    @Test("the first response over HTTP/2 makes room for more; one over HTTP/1.1 takes it back")
    func versions() throws {
        var (queues, waiters) = try full(2, 6)
        let next = queues.end(key(1), hasStreams: true)
        #expect(next.map(ObjectIdentifier.init) == waiters.prefix(3).map(ObjectIdentifier.init))
        #expect(queues.active == 4)
        // A failure says nothing about the version.
        #expect(ends(&queues).count == 1)
        for _ in 0..<2 { #expect(ends(&queues, hasStreams: false).isEmpty) }
        #expect(ends(&queues).count == 1)
        #expect(queues.active == 2 && queues.waiting == 1)
    }

    @Test("a connection that turns out to be one of HTTP/2 makes room at once")
    func connection() throws {
        var (queues, waiters) = try full(2, 6)
        let next = queues.noteStreams(of: 1)
        #expect(next.map(ObjectIdentifier.init) == waiters.prefix(2).map(ObjectIdentifier.init))
        #expect(queues.active == 4 && queues.waiting == 4)
        // Of an origin without a queue there is nothing to note.
        let none = queues.noteStreams(of: 2)
        #expect(none.isEmpty)
    }

    @Test("a limit of nothing lets one through")
    func nothing() {
        var queues = CurlQueues(connections: 0, streams: -1)
        #expect(enters(&queues))
        #expect(!enters(&queues))
    }

    @Test("queues that nobody uses are forgotten")
    func forgotten() {
        var queues = CurlQueues(connections: 1, streams: 1)
        #expect(enters(&queues, 0))
        for origin in 1..<UInt64(10_000) {
            #expect(enters(&queues, origin))
            #expect(ends(&queues, origin).isEmpty)
        }
        #expect(queues.count <= 1024)
        #expect(!enters(&queues, 0))
    }

    @Test("all waiters leave at the end")
    func cleared() throws {
        var (queues, waiters) = try full(1, 3)
        let cleared = queues.clear()
        #expect(Set(cleared.map(ObjectIdentifier.init)) == Set(waiters.map(ObjectIdentifier.init)))
        #expect(queues.waiting == 0 && queues.active == 1)
        #expect(ends(&queues).isEmpty)
    }
}
#endif
