#if os(Linux)
import Errand

/// Measures how a name server that does not respond affects other calls.
struct SlowLookup {
    let slow: String
    let quick: String

    private let clock = ContinuousClock()

    func report() async throws {
        let transport = CurlTransport()
        let (slow, quick) = (client(slow, transport), client(quick, transport))
        _ = try await quick.run(Endpoint<Int>.get(""))
        async let slowest = slowest(of: 100, by: quick)
        let cancelled = await clock.measure {
            let call = Task { _ = try await slow.run(Endpoint<Int>.get("")) }
            // Long enough for the lookup to have begun.
            try? await Task.sleep(for: .milliseconds(200))
            call.cancel()
            _ = await call.result
        }
        let timedOut = await clock.measure {
            _ = try? await slow.run(Endpoint<Int>.get("").timeout(.milliseconds(300)))
        }
        print(cancelled.inMilliseconds, timedOut.inMilliseconds, try await slowest.inMilliseconds)
        let last = Task { _ = try await slow.run(Endpoint<Int>.get("")) }
        // Again long enough for the lookup to have begun, which nothing reports.
        try await Task.sleep(for: .milliseconds(200))
        print(await clock.measure { await transport.shutdown() }.inMilliseconds)
        _ = await last.result
    }

    private func client(_ url: String, _ transport: CurlTransport) -> APIClient {
        APIClient(url) {
            $0.transport = transport
            $0.rateLimit = .unlimited
            $0.retry = .never
            $0.allowsCleartext = true
            $0.connectivity = .always
        }
    }

    private func slowest(of count: Int, by client: APIClient) async throws -> Duration {
        var slowest = Duration.zero
        for _ in 0..<count {
            let start = clock.now
            _ = try await client.run(Endpoint<Int>.get(""))
            slowest = max(slowest, start.duration(to: clock.now))
            // Paced so that the calls last about as long as the lookups beside them.
            try await Task.sleep(for: .milliseconds(10))
        }
        return slowest
    }
}

extension Duration {
    fileprivate var inMilliseconds: Int { Int(self / .milliseconds(1)) }
}
#endif
