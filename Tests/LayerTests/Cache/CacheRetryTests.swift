@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("Retries past a cache", .timeLimit(.minutes(10))) struct CacheRetryTests {
    private let scene: CacheScene
    private let endpoint = Endpoint<[Int]>.get("x")

    init() throws {
        scene = try CacheScene()
    }

    @Test("K2: what a call asks again after is not stored, and not given to it; a retry asks the server")
    func retriedStatus() async throws {
        let busy = ScriptedReply.status(503, headers: ["Cache-Control": "max-age=300"])
        scene.network.on(.get, "/x", busy, .json("[1]"))
        scene.network.on(.get, "/y", busy, .json("[2]", headers: ["Cache-Control": "max-age=300"]))
        try await scene.clock.run {
            let retried = try await scene.client().run(endpoint)
            #expect(retried == [1])
            #expect(scene.cache.statistics.responses == 0)
            // One that does not ask again has it stored, as its server says, and only calls like it receive it.
            let patient = scene.client { $0.retry = .never }
            let other = Endpoint<[Int]>.get("y")
            for _ in 0..<2 { await #expect(throws: ServiceError.self) { try await patient.run(other) } }
            #expect(scene.network.sent.count == 3 && scene.cache.statistics.hits == 1)
            let outlooks = [scene.client(), patient].map { $0.explain(other) }
            #expect(outlooks[0].contains("nothing is stored") && outlooks[1].contains("hit"))
            let values = [try await scene.client().run(other), try await patient.run(other)]
            #expect(values == [[2], [2]])
            #expect(scene.network.sent.count == 4)
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
            let other = scripted()
            other.on(.get, "/x", reply, .json("[1]"))
            let client = testClient(other, scene.clock) { ($0.cache, $0.retry) = (scene.cache, policy) }
            let value = try await scene.clock.run { try await client.run(endpoint) }
            #expect(value == [1] && scene.cache.statistics.responses == 0)
        }
        // Stored by a call that does not retry, and obsolete after one that does.
        scene.network.on(
            .get, "/x", .status(503, headers: lasting), .json("[2]", headers: ["Cache-Control": "no-store"]))
        let patient = scene.client { $0.retry = .never }
        await #expect(throws: ServiceError.self) { try await patient.run(endpoint) }
        #expect(scene.cache.statistics.responses == 1)
        let value = try await scene.clock.run { try await scene.client().run(endpoint) }
        #expect(value == [2] && scene.cache.statistics.responses == 0)
    }
}
