@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("Retries past a cache", .timeLimit(.minutes(10))) struct CacheRetryTests {
    private let clock = TestClock()
    private let network = scripted()
    private let cache = HTTPCache.memory(megabytes: 1)
    private let endpoint = Endpoint<[Int]>.get("x")

    private func client(_ configure: (inout Configuration) -> Void = { _ in }) -> APIClient {
        testClient(network, clock) { configuration in
            configuration.cache = cache
            configure(&configuration)
        }
    }

    @Test("K2: what a call asks again after is not stored, and not given to it; a retry asks the server")
    func retriedStatus() async throws {
        let busy = ScriptedReply.status(503, headers: ["Cache-Control": "max-age=300"])
        network.on(.get, "/x", busy, .json("[1]"))
        network.on(.get, "/y", busy, .json("[2]", headers: ["Cache-Control": "max-age=300"]))
        try await clock.run {
            let retried = try await client().run(endpoint)
            #expect(retried == [1])
            #expect(cache.statistics.responses == 0)
            // One that does not ask again has it stored, as its server says, and only calls like it receive it.
            let patient = client { $0.retry = .never }
            let other = Endpoint<[Int]>.get("y")
            for _ in 0..<2 { await #expect(throws: ServiceError.self) { try await patient.run(other) } }
            #expect(network.sent.count == 3 && cache.statistics.hits == 1)
            let outlooks = [client(), patient].map { $0.explain(other) }
            #expect(outlooks[0].contains("nothing is stored") && outlooks[1].contains("hit"))
            let values = [try await client().run(other), try await patient.run(other)]
            #expect(values == [[2], [2]])
            #expect(network.sent.count == 4)
        }
    }

    @Test("K2: a response is not stored whatever makes the call ask again, and a success replaces one that is")
    func askedAgain() async throws {
        let lasting: HTTPHeaders = ["Cache-Control": "max-age=300"]
        let reasons: [(ScriptedReply, RetryPolicy)] = [
            (.status(409, headers: ["Cache-Control": "max-age=300", "x-should-retry": "true"]), .standard),
            (.status(403, headers: ["Cache-Control": "max-age=300", "Retry-After": "1"]), .standard),
            (.status(418, headers: lasting), RetryPolicy.standard.retrying { $0.status == 418 }),
        ]
        for (reply, policy) in reasons {
            let network = scripted()
            network.on(.get, "/x", reply, .json("[1]"))
            let client = testClient(network, clock) { ($0.cache, $0.retry) = (cache, policy) }
            let value = try await clock.run { try await client.run(endpoint) }
            #expect(value == [1] && cache.statistics.responses == 0)
        }
        // Stored by a call that does not retry, and obsolete after one that does.
        network.on(.get, "/x", .status(503, headers: lasting), .json("[2]", headers: ["Cache-Control": "no-store"]))
        let patient = client { $0.retry = .never }
        await #expect(throws: ServiceError.self) { try await patient.run(endpoint) }
        #expect(cache.statistics.responses == 1)
        let value = try await clock.run { try await client().run(endpoint) }
        #expect(value == [2] && cache.statistics.responses == 0)
    }
}
