import ChildProcess
import Errand
import ErrandFleet
import ErrandSimulation
import Foundation

extension Step {
    /// How many requests three processes may send per second, together.
    private static let limit = FleetDemoNode.limit

    static let shareTheLimit = Step(
        title: "Three processes under one limit, one of which is killed",
        asked: "$0.limiter = fleet.limiter(\"demo\", .requests(\(limit), per: .seconds(1))), in each of them"
    ) { scene in
        let server = try LoopbackServer()
        defer { server.close() }
        let calls = FleetCalls()
        server.on(.get, "/work") { request in
            calls.note(request.headers["X-Node"] ?? "")
            return .status(204)
        }
        let etcd = LocalEtcd.isInstalled ? try await LocalEtcd() : nil
        defer { etcd?.end() }
        let folder = FileManager.default.temporaryDirectory.appending(path: "errand-demo-\(UUID())").path
        // It is in the system's folder for temporary files.
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let store = etcd?.address ?? folder
        var nodes: [Child] = []
        defer { for node in nodes { node.kill() } }
        for name in ["a", "b", "c"] {
            nodes.append(try Child(Child.own, ["--node", store, server.baseURL, name]))
        }
        for node in nodes { _ = node.line() }
        try await wait(seconds: 3, for: "three processes", scene)
        nodes.removeLast().kill()
        let before = calls.all
        try await wait(seconds: 5, for: "two processes, until the permits of the third are theirs", scene)
        let start = calls.all.count
        try await wait(seconds: 2, for: "two processes", scene)
        let late = calls.all.dropFirst(start)
        let most = calls.mostInASecond
        try expect(most <= limit + 1, "\(most) requests arrived within a second")
        try expect(Set(before.map(\.node)) == ["a", "b", "c"], "not all of them were served: \(before.map(\.node))")
        let isShared = late.allSatisfy { $0.node != "c" } && late.count >= limit * 3 / 2
        try expect(isShared, "two processes sent \(late.count) requests in 2 s")
        let place = etcd == nil ? "a folder, as etcd is not installed" : "etcd"
        let each = ["a", "b", "c"].map { name in "\(before.count { $0.node == name })" }.joined(separator: ", ")
        return "\(each) requests, then \(late.count) in 2 s from the two that are left; at most \(most) in a second; "
            + "by \(place)"
    }

    private static func wait(seconds: Int, for what: String, _ scene: Scene) async throws {
        for second in 1...seconds {
            try await Task.sleep(for: .seconds(1))
            scene.terminal.showProgress(second, of: seconds, "s with \(what)")
        }
    }
}

/// The requests that have arrived, and when.
private final class FleetCalls: Sendable {
    private let calls = Lock<[(node: String, at: ContinuousClock.Instant)]>([])

    func note(_ node: String) { calls.withLock { $0.append((node, .now)) } }

    var all: [(node: String, at: ContinuousClock.Instant)] { calls.withLock { $0 } }

    /// Arrivals can be closer together than sends, by what the network takes: the ends of the second do not count.
    var mostInASecond: Int {
        let all = all
        var (start, most) = (0, 0)
        for (index, call) in all.enumerated() {
            while all[start].at.duration(to: call.at) > .milliseconds(950) { start += 1 }
            most = max(most, index - start + 1)
        }
        return most
    }
}

/// One of the processes of a fleet: calls until its parent has exited.
enum FleetDemoNode {
    static let limit = 20

    static func run(_ arguments: [String]) async throws {
        guard arguments.count == 3 else { throw Step.Failure(description: "--node is for the demo itself") }
        let store: any FleetStore =
            arguments[0].hasPrefix("http") ? EtcdFleetStore([arguments[0]]) : FileFleetStore(folder: arguments[0])
        let fleet = Fleet(store: store, name: "demo", node: arguments[2], lifetime: .seconds(2))
        let client = APIClient(arguments[1]) {
            $0.limiter = fleet.limiter("demo", .requests(limit, per: .seconds(1)))
        }
        let call = Endpoint<NoContent>.get("work").header("X-Node", arguments[2])
        try await client.run(call)
        Child.tellParent("ready")
        await withTaskGroup { group in
            for _ in 0..<10 {
                // A server that has gone ends the process soon.
                group.addTask { while (try? await client.run(call)) != nil {} }
            }
        }
    }
}
