#if os(Linux)
@testable import Errand
import ErrandTestSupport
import Testing

@Suite("What the requests of a transport share") struct CurlPoolTests {
    private func handle(_ number: Int) throws -> CurlHandle {
        // Nothing here looks behind it.
        CurlHandle(transfer: try #require(OpaquePointer(bitPattern: number)))
    }

    @Test("handles are kept for the next requests while there are few, and none after the end")
    func keeping() throws {
        var state = CurlPool.State(CurlQueues(connections: 8, streams: 8))
        let most = CurlPool.State.mostIdle
        let kept = try (1...most + 1).map { number in state.keep(try handle(number)) }
        #expect(kept == Array(repeating: true, count: most) + [false])
        let (borrowed, ended) = (state.borrow(preferring: nil), state.close().idle)
        #expect(borrowed?.transfer == (try handle(most).transfer))
        #expect(ended.map(\.transfer) == (try (1..<most).map { try handle($0).transfer }))
        // Nobody would free it.
        let isKept = state.keep(try handle(most))
        #expect(!isKept && state.borrow(preferring: nil) == nil)
    }
}
#endif
