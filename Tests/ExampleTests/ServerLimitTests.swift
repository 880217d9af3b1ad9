import Errand
import ErrandTesting
import ExampleServer
import Testing

@Suite("Example server: the limit", .timeLimit(.minutes(10)))
struct ServerLimitTests {
    private let clock = TestClock()
    private let popular = Endpoint<NoContent>.get("popular", query: ["api_key": ExampleData.apiKey])

    private func server(_ limit: ExampleServer.RequestLimit? = .init(tolerance: .zero)) throws -> ExampleServer {
        try ExampleServer { [clock] in
            $0.requestLimit = limit
            $0.time = clock
        }
    }

    @Test("the sixth request in a second gets a 429 and the time to wait")
    func sixth() async throws {
        let server = try server()
        let client = plainClient(server.moviesURL)
        for _ in 0..<5 { #expect(await client.failure(of: popular)?.status != 429) }
        await clock.advance(by: .milliseconds(999))
        let error = await client.failure(of: popular)
        #expect(error?.status == 429)
        #expect(error?.retryAfter == .seconds(1))
        await clock.advance(by: .milliseconds(1))
        #expect(await client.failure(of: popular)?.status != 429)
    }

    @Test("the window rolls: later permits come back later, and refused requests do not count")
    func rolling() async throws {
        let server = try server()
        let client = plainClient(server.moviesURL)
        _ = await client.failure(of: popular)
        await clock.advance(by: .milliseconds(900))
        for _ in 0..<4 { #expect(await client.failure(of: popular)?.status != 429) }
        for _ in 0..<3 { #expect(await client.failure(of: popular)?.status == 429) }
        await clock.advance(by: .milliseconds(100))
        #expect(await client.failure(of: popular)?.status != 429)
        #expect(await client.failure(of: popular)?.status == 429)
        await clock.advance(by: .milliseconds(900))
        for _ in 0..<4 { #expect(await client.failure(of: popular)?.status != 429) }
        #expect(await client.failure(of: popular)?.status == 429)
    }

    @Test("a long wait is in whole seconds, rounded up")
    func longWait() async throws {
        let server = try server(.init(requests: 1, period: .milliseconds(9_500), tolerance: .zero))
        let client = plainClient(server.moviesURL)
        _ = await client.failure(of: popular)
        #expect(await client.failure(of: popular)?.retryAfter == .seconds(10))
    }

    @Test("requests may arrive a little closer together than they were sent")
    func tolerance() async throws {
        let server = try server(.init())
        let client = plainClient(server.moviesURL)
        for _ in 0..<5 { _ = await client.failure(of: popular) }
        await clock.advance(by: .milliseconds(899))
        #expect(await client.failure(of: popular)?.status == 429)
        await clock.advance(by: .milliseconds(1))
        #expect(await client.failure(of: popular)?.status != 429)
    }

    @Test("each backend counts separately, and reports the limit in its own format")
    func separate() async throws {
        let server = try server(.init(requests: 1, tolerance: .zero))
        let words = "Too many requests; try again in 1 s"
        for url in [server.socialURL, server.centralURL, server.moviesURL, server.pinsURL] {
            let client = plainClient(url)
            #expect(await client.failure(of: popular)?.status != 429)
            let limited = RateLimited(retryAfter: .seconds(1), status: 429, message: words)
            #expect(await client.failure(of: popular) == .rateLimited(limited))
        }
    }

    @Test("without a limit any number is accepted")
    func off() async throws {
        let server = try server(nil)
        let client = plainClient(server.moviesURL)
        for _ in 0..<20 { #expect(await client.failure(of: popular)?.status != 429) }
    }
}
