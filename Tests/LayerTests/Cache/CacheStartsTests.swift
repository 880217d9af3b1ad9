@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("The order of answers in a cache", .timeLimit(.minutes(10))) struct CacheStartsTests {
    private let scene: CacheScene
    private let endpoint = Endpoint<[Int]>.get("x")

    init() throws {
        scene = try CacheScene()
    }

    @Test("K11: the answer to an earlier request, which comes late, does not replace that to a later one")
    func lateAnswer() async throws {
        let lasting: HTTPHeaders = ["Cache-Control": "max-age=300"]
        scene.network.on(
            .get, "/x", .json("[1]", headers: lasting).after(.seconds(10)),
            .json("[2]", headers: lasting).after(.seconds(1)))
        let client = scene.client()
        try await scene.clock.run {
            async let slow = client.reply(to: endpoint)
            try await scene.clock.sleep(for: .seconds(2))
            let quick = try await client.reply(to: endpoint)
            let late = try await slow
            #expect(quick.value == [2] && late.value == [1])
            #expect(late.cache == CacheStatus(.miss, reason: .overtaken))
            let stored = try await client.reply(to: endpoint)
            #expect(stored.value == [2] && stored.cache?.kind == .hit)
        }
    }

    @Test(
        "K11: neither does it if the later answer depends on other fields, or is not stored",
        arguments: [["Cache-Control": "max-age=300", "Vary": "Accept"], ["Cache-Control": "no-store"]] as [HTTPHeaders])
    func lateAmongOthers(headers: HTTPHeaders) async throws {
        scene.network.on(
            .get, "/x", .json("[1]", headers: ["Cache-Control": "max-age=300"]).after(.seconds(10)),
            .json("[2]", headers: headers))
        if headers["Vary"] == nil { scene.network.on(.get, "/x", .json("[3]")) }
        let client = scene.client()
        try await scene.clock.run {
            async let slow = client.run(endpoint)
            try await scene.clock.sleep(for: .seconds(2))
            let values = [try await client.run(endpoint), try await slow, try await client.run(endpoint)]
            #expect(values == [[2], [1], headers["Vary"] == nil ? [3] : [2]])
        }
    }

    @Test("K11: only so many are remembered")
    func startsAreLimited() throws {
        var starts = CacheStarts()
        let response = try #require(CacheSample.stored(["Cache-Control": "max-age=60"]))
        var overtaken = 0
        for instant in [Instant.zero, .ms(1)] {
            for number in 0..<3 * CacheStarts.capacity {
                let key = CacheSample.key("/\(number)")
                if starts.overtook(response, at: key, since: instant) { overtaken += 1 }
            }
        }
        #expect(overtaken == 0 && starts.count <= 2 * CacheStarts.capacity)
        let last = CacheSample.key("/\(3 * CacheStarts.capacity - 1)")
        let isOvertaken = [Instant.ms(1), .zero].map { starts.overtook(response, at: last, since: $0) }
        #expect(isOvertaken == [false, true])
    }

    @Test("K11: a request that has waited for its permit is the later one")
    func lateSend() async throws {
        let lasting: HTTPHeaders = ["Cache-Control": "max-age=300"]
        scene.network.on(.get, "/x", .json("[1]", headers: lasting), .json("[2]", headers: lasting))
        scene.network.on(.get, "/y", .json("[3]"))
        let (waiting, quick) = (scene.client { $0.rateLimit = .requests(1, per: .seconds(10)) }, scene.client())
        try await scene.clock.run {
            _ = try await waiting.run(Endpoint<[Int]>.get("y"))
            async let later = waiting.run(endpoint)
            try await scene.clock.sleep(for: .seconds(1))
            let values = [try await quick.run(endpoint), try await later, try await quick.run(endpoint)]
            #expect(values == [[1], [2], [2]])
        }
    }
}
