#if os(Linux)
import Errand
@testable import ErrandFleet
import ErrandSimulation
import ErrandTestSupport
import Foundation
import Testing

@Suite(
    "The store in Redis", .enabled(if: ServerProgram.redis.isInstalled, "redis-server is not installed"),
    .timeLimit(.minutes(10)))
struct RedisStoreTests {
    /// The rules of the store's documentation, without the password.
    static let rules =
        "on ~errand/* ~errand:revisions &errand:0:* -@all +hello +select +hmget +eval +get +set +hset +del +time "
        + "+publish +subscribe +unsubscribe +info +config|get"

    private func check(_ open: @escaping @Sendable () -> any FleetStore) async {
        await withTaskGroup { group in
            for rule in FleetStoreConformance.all {
                group.addTask {
                    do {
                        try await rule.check { open() }
                    } catch {
                        Issue.record("\(error)")
                    }
                }
            }
        }
    }

    @Test("F12: a Redis that saves every write keeps the promises of stores")
    func conformance() async throws {
        let server = try await RedisServer(RedisServer.durable + ["--requirepass", "secret"])
        await check {
            RedisFleetStore(server.address, credentials: .password("secret"), timeout: .seconds(20))
        }
    }

    @Test("F12: a user with the documented permissions can do all that the store needs, in one database of several")
    func documentedPermissions() async throws {
        let server = try await RedisServer()
        try await server.setUser("node", Self.rules + " ~conformance/* >secret resetchannels &errand:3:*")
        await check {
            RedisFleetStore(
                "\(server.address)/3", credentials: .user("node", password: "secret"), timeout: .seconds(20))
        }
    }
}
#endif
