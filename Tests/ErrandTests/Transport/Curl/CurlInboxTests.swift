#if os(Linux)
@testable import Errand
import ErrandTestSupport
import Testing

@Suite("What the thread of a loop shares with its callers") struct CurlInboxTests {
    private func handle(_ number: Int) throws -> CurlExchange.Handle {
        // Nothing here looks behind it.
        CurlExchange.Handle(transfer: try #require(OpaquePointer(bitPattern: number)))
    }

    @Test("handles are kept for the next requests while there are few, and none after the end")
    func keeping() throws {
        var inbox = CurlInbox(CurlQueues(connections: 8, streams: 8))
        let kept = try (1...3).map { number in inbox.keep(try handle(number), atMost: 2) }
        #expect(kept == [true, true, false])
        let (borrowed, ended) = (inbox.borrow(), inbox.close().idle)
        #expect(borrowed?.transfer == (try handle(2).transfer))
        #expect(ended.map(\.transfer) == [try handle(1).transfer])
        // Nobody would free it.
        let isKept = inbox.keep(try handle(2), atMost: 2)
        #expect(!isKept && inbox.borrow() == nil)
    }
}
#endif
