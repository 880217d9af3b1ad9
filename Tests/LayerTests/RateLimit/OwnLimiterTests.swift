import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("Calls with a limiter of their own", .timeLimit(.minutes(10))) struct OwnLimiterTests {
    private let clock = TestClock()
    private let network = scripted()
    private let read = Endpoint<Int>.get("r")
    private let write = Endpoint<Int>.post("w")

    private func client(_ configure: (inout Configuration) -> Void = { _ in }) -> APIClient {
        testClient(network, clock) {
            $0.rateLimit = .requests(2, per: .seconds(1))
            configure(&$0)
        }
    }

    /// Runs calls of both kinds at once, and returns when those of each were sent.
    private func sends(_ client: APIClient, _ limiter: RateLimiter) async throws -> (
        reads: [Instant], writes: [Instant]
    ) {
        network.onAny { ScriptedReply.json("1").always }
        try await clock.run {
            _ = try await client.runAll(
                [read, read, read, write, write, write].map {
                    $0.method == .post ? $0.limiter(limiter) : $0
                }, atMost: 6)
        }
        let sent = Dictionary(grouping: network.sent) { $0.request.method }
        return (sent[.get, default: []].map(\.at), sent[.post, default: []].map(\.at))
    }

    @Test("C1: writes have their own permits, and take none of the client's")
    func apart() async throws {
        let writes = RateLimiter(.requests(1, per: .seconds(1)), time: clock)
        let (reads, written) = try await sends(client(), writes)
        #expect(reads == [.zero, .zero, .ms(1000)])
        #expect(written == [.zero, .ms(1000), .ms(2000)])
    }

    @Test("C1: within the client's limiter they take its permits too")
    func within() async throws {
        let shared = RateLimiter(.requests(2, per: .seconds(1)), time: clock)
        let (reads, writes) = try await sends(
            client { $0.limiter = shared }, RateLimiter(.requests(1, per: .seconds(1)), within: shared))
        let all = (reads + writes).sorted { $0 < $1 }
        #expect(all.count == 6)
        #expect(zip(all, all.dropFirst(2)).allSatisfy { $0.duration(to: $1) >= .seconds(1) }, "\(all)")
        #expect(zip(writes, writes.dropFirst()).allSatisfy { $0.duration(to: $1) >= .seconds(1) }, "\(writes)")
    }

    @Test("C7: a pause that a server asks for stops the limiter of the call, and not the client's")
    func pause() async throws {
        network.on(.post, "/w", .status(429, headers: ["Retry-After": "10"]), .json("1"))
        network.on(.get, "/r", .json("1"))
        let writes = RateLimiter(.requests(5, per: .seconds(1)), time: clock)
        let client = client { $0.retry = .never }
        await clock.run {
            _ = try? await client.run(write.limiter(writes))
            async let other = try? await client.run(write.limiter(writes))
            _ = try? await client.run(read)
            _ = await other
        }
        let sent = network.sent.map { ($0.request.method, $0.at) }
        #expect(sent.map(\.0) == [.post, .get, .post])
        #expect(sent[1].1 == .zero && sent[2].1 >= .ms(10_000))
    }

    @Test("a limiter that makes no sense, and a cost that it never grants, send nothing and are explained")
    func senseless() async throws {
        let client = client()
        let bad = RateLimiter(.requests(0, per: .seconds(1)), time: clock)
        let small = RateLimiter(.requests(1, per: .seconds(1)), time: clock)
        for endpoint in [read.limiter(bad), read.limiter(small).permits(2)] {
            let error = await #expect(throws: ServiceError.self) { try await client.run(endpoint) }
            guard case .invalidRequest(let invalid) = error else { throw try #require(error) }
            #expect(invalid.subject == .configuration)
            #expect(client.explain(endpoint).hasPrefix("Nothing would be sent."))
        }
        #expect(client.explain(read.limiter(small)).contains("rate limit:  1 per 1 s; each send takes 1"))
        #expect(network.sent.isEmpty)
    }
}
