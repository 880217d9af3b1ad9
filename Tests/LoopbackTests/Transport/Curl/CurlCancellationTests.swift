#if os(Linux)
import CCurl
@testable import Errand
import ErrandTesting
import Foundation
import Testing

@Suite("Cancellations on libcurl's thread", .timeLimit(.minutes(10))) struct CurlCancellationTests {
    private let server: LoopbackServer

    init() throws {
        // Opens the library, as a transport does before it has a loop.
        try #require(CurlTransport.libraryVersion != nil)
        server = try LoopbackServer()
        server.onAny { _ in .json("1") }
    }

    /// Returns an exchange that can be started.
    private func exchange(_ loop: CurlLoop, _ key: CurlQueues.Key, _ url: HTTPURL) throws -> CurlExchange {
        let handle = try #require(try loop.pool.borrowAtOnce(for: key))
        let context = TransportContext()
        try CurlRequest(HTTPRequest(method: .get, url: url), to: key.origin, options: CurlTransport.Options())
            .prepare(handle.transfer, context: context)
        return CurlExchange(handle, to: url.origin, in: loop.pool, context: context)
    }

    @Test("an exchange that is cancelled before it is started does not begin", arguments: [false, true])
    func early(isThreadRunning: Bool) async throws {
        let core = try #require(CurlCore())
        let loop = CurlLoop(core, pool: CurlPool(CurlQueues(connections: 64, streams: 64), of: core))
        let url = try HTTPURL(server.baseURL + "/x")
        let key = CurlQueues.Key(origin: url.origin.number, client: nil)
        func run(isCancelled: Bool) async throws -> ccurl_code? {
            let exchange = try exchange(loop, key, url)
            if isCancelled { loop.cancel(exchange) }
            #expect(loop.start(exchange))
            await exchange.ready.completion()
            loop.pool.giveBack(exchange.handle, from: key)
            return exchange.result
        }
        if isThreadRunning { #expect(try await run(isCancelled: false) == CCURLE_OK) }
        let before = server.received.count
        #expect(try await run(isCancelled: true) == nil)
        #expect(server.received.count == before)
        // The next exchange, which may have the same handle, is not concerned.
        #expect(try await run(isCancelled: false) == CCURLE_OK)
        #expect(server.received.count == before + 1)
        loop.close()
        loop.pool.close()
        await loop.closed()
    }
}
#endif
