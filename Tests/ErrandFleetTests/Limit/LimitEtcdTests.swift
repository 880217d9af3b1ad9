#if os(Linux)
import Errand
import ErrandFleet
import ErrandTestSupport
import Foundation
import Testing

@Suite(
    "A limit over etcd", .enabled(if: ServerProgram.etcd.isInstalled, "etcd is not installed"),
    .timeLimit(.minutes(10)))
struct LimitEtcdTests {
    private static let lifetime = Duration.seconds(5)

    @Test("F5: two nodes live through a restart of etcd: calls wait, and continue, and the limit is never exceeded")
    func restart() async throws {
        let cluster = try await EtcdCluster()
        try await cluster.isReady(for: EtcdFleetStore(cluster.addresses))
        let scene = LimitServerScene(over: cluster)
        try await scene.waitForCalls("at first")
        await cluster.kill(0)
        // Longer than a busy machine stops.
        var (last, same) = (0, 0)
        try await scene.wait(for: "the end of the permits", every: .seconds(1)) {
            let count = scene.counts.reduce(0, +)
            (last, same) = (count, count == last ? same + 1 : 0)
            return same == 3
        }
        try cluster.start(0)
        try await scene.waitForCalls("after the restart")
        await scene.end()
        #expect(scene.failures.allSatisfy { $0.value.isEmpty })
        #expect(scene.largestCount <= LimitServerScene.permits)
    }

    @Test("F5: a dead leader, an etcd that is two seconds late, a compaction and a removed node: calls go on")
    func faults() async throws {
        let cluster = try await EtcdCluster(3)
        for address in cluster.addresses { try await cluster.isReady(for: EtcdFleetStore([address])) }
        let (leader, late) = (try await cluster.leader, LateTransport())
        let scene = LimitServerScene(
            over: cluster, first: leader, lifetime: Self.lifetime, timeout: .seconds(5), transport: late)
        try await scene.waitForCalls("at first")

        await cluster.kill(leader)
        // After a lifetime, nodes call only if they have renewed it since.
        try await Task.sleep(for: Self.lifetime)
        try await scene.waitForCalls("without the leader")

        late.isLate.value = true
        try await Task.sleep(for: Self.lifetime + .seconds(2))
        try await scene.waitForCalls("while etcd is late")
        late.isLate.value = false

        // The member that was away has missed what is compacted, and so have the watches.
        let other = (leader + 1) % 3
        let node = scene.fleets[0].snapshot.node
        let status = try await cluster.call("maintenance/status", [:], at: other)
        let header = try #require(status["header"] as? [String: Any])
        let revision = try #require(header["revision"] as? String)
        try await cluster.call("kv/compaction", ["revision": revision, "physical": true], at: other)
        let key = Data("errand/test/nodes/\(node)".utf8).base64EncodedString()
        try await cluster.call("kv/deleterange", ["key": key], at: other)
        try cluster.start(leader)
        await cluster.kill(other)
        try await scene.wait(for: "another name of the node that was removed") {
            scene.fleets[0].snapshot.node != node
        }
        try await scene.waitForCalls("under another name, over the member that is back")
        await scene.end()
        #expect(scene.failures.allSatisfy { $0.value.isEmpty })
        #expect(scene.largestCount <= LimitServerScene.permits)
    }

    @Test("F5: an etcd without space: calls wait or fail as configured, and go on when there is space again")
    func full() async throws {
        let cluster = try await EtcdCluster(options: ["--quota-backend-bytes", "2000000"])
        let store = EtcdFleetStore(cluster.addresses, timeout: .seconds(20))
        try await cluster.isReady(for: store)
        let scene = LimitServerScene(over: cluster, outages: [.wait, .fail])
        try await scene.waitForCalls("at first")
        var revision: FleetRevision?
        var problem: FleetStoreError.Kind?
        for _ in 0..<20 where problem == nil {
            problem = await storeProblem {
                let next = try await written(
                    [UInt8](repeating: 7, count: 400_000), to: "a", replacing: revision, in: store)
                revision = next
            }
        }
        #expect(problem == .full)
        try await scene.wait(for: "the end of the permits, and failures") {
            scene.fleets.allSatisfy { $0.snapshot.limits.first?.owned == 0 } && !scene.failures[1].value.isEmpty
        }
        let used = scene.counts
        #expect(scene.fleets[0].snapshot.limits.first?.problem?.contains("space") == true)
        #expect(scene.failures[1].value.allSatisfy { "\($0)".contains("space") })

        let last = try #require(try await store.read("a")).revision
        try await cluster.call("kv/compaction", ["revision": "\(last.number)", "physical": true])
        try await cluster.call("maintenance/defragment", [:])
        let found = try await cluster.call("maintenance/alarm", ["action": "GET"])
        #expect(scene.counts == used, "nothing is sent without permits")
        for alarm in try #require(found["alarms"] as? [[String: Any]]) {
            let member = try #require(alarm["memberID"] as? String)
            try await cluster.call(
                "maintenance/alarm", ["action": "DEACTIVATE", "memberID": member, "alarm": "NOSPACE"])
        }
        try await scene.waitForCalls("when there is space again")
        await scene.end()
        #expect(scene.failures[0].value.isEmpty)
        #expect(scene.largestCount <= LimitServerScene.permits)
    }
}

/// The way to an etcd whose answers come two seconds late, while it is told so.
private final class LateTransport: Transport {
    let isLate = Noted(false)
    private let transport = CurlTransport()

    func send(_ request: HTTPRequest, context: TransportContext) async throws -> HTTPResponse {
        let response = try await transport.send(request, context: context)
        if isLate.value { try await Task.sleep(for: .seconds(2)) }
        return response
    }

    func shutdown() async { await transport.shutdown() }
}
#endif
