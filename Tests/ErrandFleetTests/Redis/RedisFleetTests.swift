#if os(Linux)
import Errand
@testable import ErrandFleet
import ErrandTestSupport
import Foundation
import Testing

@Suite(
    "A fleet over Redis", .enabled(if: ServerProgram.redis.isInstalled, "redis-server is not installed"),
    .timeLimit(.minutes(10)))
struct RedisFleetTests {
    @Test("F5: three nodes live through a restart of Redis: calls wait, and continue, and the limit is never exceeded")
    func limit() async throws {
        let server = try await RedisServer()
        let stores = (0..<3).map { _ in RedisFleetStore(server.address, timeout: .seconds(2)) }
        let scene = LimitServerScene(in: stores, outages: [.wait, .wait, .wait])
        try await scene.waitForCalls("at first")
        await server.kill()
        // Longer than a busy machine stops.
        var (last, same) = (0, 0)
        try await scene.wait(for: "the end of the permits", every: .seconds(1)) {
            let count = scene.counts.reduce(0, +)
            (last, same) = (count, count == last ? same + 1 : 0)
            return same == 3
        }
        try await server.start()
        try await scene.waitForCalls("after the restart")
        await scene.end()
        #expect(scene.failures.allSatisfy { $0.value.isEmpty })
        #expect(scene.largestCount <= LimitServerScene.permits)
    }

    @Test("a node tells once what its Redis is not set to")
    func warnings() async throws {
        let server = try await RedisServer(["--appendonly", "no"])
        let fleet = Fleet(store: RedisFleetStore(server.address), name: "test", lifetime: .seconds(2))
        let events = fleet.events
        let limiter = fleet.limiter("api", .requests(20, per: .seconds(1)))
        try await limiter.acquire()
        let warning = await events.compactMap { if case .storeWarning(let text) = $0 { text } else { nil } }
            .first { _ in true }
        #expect(warning?.contains("Set `appendonly yes`") == true)
        #expect(fleet.snapshot.warnings == [warning])
        await fleet.leave()
    }

    @Test("F16: a server that has lost the last writes doubles the limit at most, and calls go on")
    func lostWrites() async throws {
        let server = try await RedisServer()
        let key = "errand/test/limits/api"
        let first = LimitServerScene(in: [RedisFleetStore(server.address)], outages: [.wait])
        try await first.waitForCalls("at first")
        let old = try await server.call("HMGET", key, "r", "b")
        guard case .list(let fields) = old, let revision = fields[0].text, let record = fields[1].text else {
            throw NotReady(what: "the record")
        }
        // The first node gives the second one its part.
        let second = LimitServerScene(in: [RedisFleetStore(server.address)], outages: [.wait])
        try await second.waitForCalls("of the second node")
        // As if a replica had taken over before it had heard of that.
        try await server.call("HSET", key, "r", revision, "b", record)
        try await first.waitForCalls("of the first node, afterward")
        try await second.waitForCalls("of the second node, afterward")
        await first.end()
        await second.end()
        #expect(first.largestCount(with: second) <= 2 * LimitServerScene.permits)
        #expect((first.failures + second.failures).allSatisfy { $0.value.isEmpty })
    }

    @Test("F6, F13: nodes that share a session in Redis refresh it once, and learn of the new token by themselves")
    func sessions() async throws {
        let server = try await RedisServer()
        let scene = try SessionScene(RedisFleetStore(server.address, timeout: .seconds(20)))
        try await scene.expectOneRefresh { RedisFleetStore(server.address, timeout: .seconds(20)) }
    }
}
#endif
