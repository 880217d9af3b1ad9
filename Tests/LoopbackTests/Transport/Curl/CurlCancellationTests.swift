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
    private func exchange(_ loops: CurlLoops, _ key: CurlQueues.Key, _ url: HTTPURL) throws -> CurlExchange {
        let handle = try #require(try loops.pool.borrowAtOnce(for: key))
        let context = TransportContext()
        try CurlRequest(HTTPRequest(method: .get, url: url), to: key.origin, options: CurlTransport.Options())
            .prepare(handle.transfer, context: context)
        return CurlExchange(handle, to: url.origin, in: loops.pool, context: context)
    }

    @Test("an exchange that is cancelled before it is started does not begin", arguments: [false, true])
    func early(isThreadRunning: Bool) async throws {
        let handles = try #require(CurlHandles())
        let pool = CurlPool(CurlQueues(connections: 64, streams: 64), handles)
        let loops = try #require(CurlLoops(handles, pool: pool, idleTime: CurlLoops.idleTime))
        let url = try HTTPURL(server.baseURL + "/x")
        let key = CurlQueues.Key(origin: url.origin.number, client: nil)
        func run(isCancelled: Bool) async throws -> ccurl_code? {
            let exchange = try exchange(loops, key, url)
            if isCancelled { loops.cancel(exchange) }
            loops.start(exchange)
            await exchange.ready.opened()
            pool.giveBack(exchange.handle, from: key)
            return exchange.result
        }
        if isThreadRunning { #expect(try await run(isCancelled: false) == CCURLE_OK) }
        let before = server.received.count
        #expect(try await run(isCancelled: true) == nil)
        #expect(server.received.count == before)
        // The next exchange, which may have the same handle, is not concerned.
        #expect(try await run(isCancelled: false) == CCURLE_OK)
        #expect(server.received.count == before + 1)
        loops.close()
        await loops.closed()
    }

    @Test("when a client has shut down, nothing of it is under way in a transport that stays")
    func clientShutDown() async throws {
        server.on(.get, "/endless") { _ in .endless() }
        let transport = CurlTransport()
        let client = APIClient(server.baseURL) {
            $0.transport = transport
            $0.rateLimit = .unlimited
        }
        let streams = try await withThrowingTaskGroup(of: StreamedResponse.self) { group in
            for _ in 0..<20 { group.addTask { try await client.stream(.get("endless")) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(!transport.isIdle)
        await client.shutdown()
        #expect(transport.isIdle)
        withExtendedLifetime(streams) {}
        let request = HTTPRequest(method: .get, url: try HTTPURL(server.baseURL + "/x"))
        #expect(try await transport.send(request, context: TransportContext()).status == 200)
    }
}
#endif
