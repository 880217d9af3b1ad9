import ErrandFleet
import ErrandTestSupport
import Foundation
import Testing

@Suite("A limit that processes share", .timeLimit(.minutes(10))) struct LimitProcessTests {
    private let scratch: Scratch

    init() throws {
        scratch = try Scratch()
    }

    /// A node, and where its stamps are.
    private struct Node {
        let process: Subprocess
        let file: String

        /// The instants directly before and after each use of a permit.
        var uses: [(before: Int64, after: Int64)] {
            let text = (try? String(contentsOfFile: file, encoding: .utf8)) ?? ""
            return text.split(separator: "\n").compactMap { line in
                let numbers = line.split(separator: " ").compactMap { Int64($0) }
                return numbers.count == 2 ? (numbers[0], numbers[1]) : nil
            }
        }
    }

    private func start(
        _ name: String, store: String? = nil, permits: Int, lifetime: Int = 3000, tasks: Int, seconds: Int,
        rate: Double = 1
    ) async throws -> Node {
        let file = scratch.path(name)
        let process = try Subprocess(
            Subprocess.sibling("FleetNode"),
            [
                store ?? scratch.path("store"), "\(permits)", "1000", "\(lifetime)", "\(tasks)", "\(seconds)", file,
                "\(rate)",
            ])
        let output = process.output
        _ = try await Subprocess.waiting { output.availableData }
        return Node(process: process, file: file)
    }

    /// Returns the largest number of permits that were used for certain within less than a second.
    private func largestCount(_ uses: [(before: Int64, after: Int64)]) -> Int {
        let sorted = uses.sorted { $0.before < $1.before }
        var largest = 0
        for last in sorted {
            // All that lie for certain between a second before the end of this one, and that end.
            let start = sorted.partitionIndex { $0.before > last.after - 1_000_000_000 }
            let within = sorted[start...].prefix { $0.before <= last.after }
            largest = max(largest, within.count { $0.after <= last.after })
        }
        return largest
    }

    private var seconds: Int { LongRun.isWanted ? 60 : 5 }

    /// Waits until the nodes have done that, for nine minutes at most: only nodes that hang take so long.
    private func wait(for what: String, until condition: () -> Bool) async throws {
        for _ in 0..<2700 {
            if condition() { return }
            try await Task.sleep(for: .milliseconds(200))
        }
        Issue.record("\(what) has not happened")
    }

    @Test("F1: three processes use one limit up, and no rolling second has more")
    func heavyUse() async throws {
        var nodes: [Node] = []
        defer { for node in nodes { node.process.stop() } }
        for name in ["a", "b", "c"] {
            nodes.append(try await start(name, permits: 50, tasks: 30, seconds: 300))
        }
        let all = nodes
        try await wait(for: "a send of each node") { all.allSatisfy { !$0.uses.isEmpty } }
        let begin = (nodes.compactMap { $0.uses.last?.before }.max() ?? 0) + 1_000_000_000
        try await Task.sleep(for: .seconds(seconds))
        if LongRun.isWanted {
            try await wait(for: "a second in which nine tenths are used") { largestCount(all.flatMap(\.uses)) >= 45 }
        }
        for node in nodes { node.process.stop() }
        let uses = nodes.flatMap(\.uses)
        let end = nodes.compactMap { $0.uses.last?.before }.max() ?? 0
        #expect(largestCount(uses) <= 50)
        // A machine that has other things to do lets the processes wait.
        guard LongRun.isWanted else { return }
        let used = uses.count { $0.before >= begin && $0.before < end }
        #expect(Double(used) >= 0.9 * 50 * Double(end - begin) / 1e9)
        #expect(nodes.allSatisfy { node in node.uses.count { $0.before >= begin } >= seconds * 4 })
    }

    @Test("F3: a process is killed, and its permits are in use elsewhere after a lifetime and a period")
    func killed() async throws {
        let first = try await start("a", permits: 30, lifetime: 2000, tasks: 30, seconds: 300)
        let second = try await start("b", permits: 30, lifetime: 2000, tasks: 30, seconds: 300)
        try await wait(for: "a send of each node") { !first.uses.isEmpty && !second.uses.isEmpty }
        try await Task.sleep(for: .seconds(3))
        first.process.stop()
        let death = first.uses.last?.before ?? 0
        try await wait(for: "the use of all permits by the other node") {
            let late = second.uses.filter { $0.before > death + 3_000_000_000 }
            // A busy machine decides how many it uses in a second.
            guard LongRun.isWanted else { return late.count > 26 }
            return zip(late, late.dropFirst(26)).contains { $1.after - $0.before < 1_000_000_000 }
        }
        second.process.stop()
        #expect(largestCount(first.uses + second.uses) <= 30)
    }

    @Test("F4: a process that is stopped for longer than its lifetime, again and again, uses no permit that it lost")
    func stopped() async throws {
        let first = try await start("a", permits: 30, lifetime: 2000, tasks: 30, seconds: 24)
        let second = try await start("b", permits: 30, lifetime: 2000, tasks: 30, seconds: 24)
        for wait in [900, 1300, 700] {
            try await Task.sleep(for: .milliseconds(wait))
            first.process.suspend()
            try await Task.sleep(for: .milliseconds(5200))
            first.process.resume()
        }
        for node in [first, second] { _ = try await node.process.outcome() }
        #expect(largestCount(first.uses + second.uses) <= 30)
        #expect(first.uses.count > (LongRun.isWanted ? 10 : 0))
    }

    /// A server that a test can stop for a while.
    private struct Server {
        let address: String
        let suspend: () async throws -> Void
        let resume: () -> Void
    }

    #if os(Linux)
    @Test(
        "F7, F12: over etcd, processes that are killed, stopped and started at random keep the limit",
        .enabled(if: ServerProgram.etcd.isInstalled, "etcd is not installed"))
    func walkOverEtcd() async throws {
        let cluster = try await EtcdCluster()
        try await cluster.isReady(for: EtcdFleetStore(cluster.addresses))
        let address = try #require(cluster.addresses.first)
        try await walk(
            over: Server(address: address) {
                try await cluster.suspend(0)
            } resume: {
                cluster.resume(0)
            })
    }

    @Test(
        "F7, F12: over Redis, processes that are killed, stopped and started at random keep the limit",
        .enabled(if: ServerProgram.redis.isInstalled, "redis-server is not installed"))
    func walkOverRedis() async throws {
        let server = try await RedisServer()
        try await walk(
            over: Server(address: server.address) {
                try await server.suspend()
            } resume: {
                server.resume()
            })
        await server.kill()
    }
    #endif

    @Test("F7, F12: over a folder, processes that are killed, stopped and started at random keep the limit")
    func walkOverFolder() async throws { try await walk(over: nil) }

    /// Has processes use a limit up, on machines whose clocks run up to 0.9 % too fast or too slow.
    private func walk(over server: Server?) async throws {
        var random = SeededGenerator(seed: UInt64(seconds))
        var (nodes, past): ([Node], [Node]) = ([], [])
        func start() async throws -> Node {
            let number = nodes.count + past.count
            return try await self.start(
                "node-\(number)", store: server?.address, permits: 20, lifetime: 2000, tasks: 10, seconds: seconds + 60,
                rate: [0.991, 1.009, 1][number % 3])
        }
        for _ in 0..<3 { nodes.append(try await start()) }
        let end = ContinuousClock.now.advanced(by: .seconds(seconds))
        while ContinuousClock.now < end {
            try await Task.sleep(for: .milliseconds(Int.random(in: 200...1500, using: &random)))
            let index = Int.random(in: 0..<nodes.count, using: &random)
            switch Int.random(in: 0..<4, using: &random) {
            case 0:
                nodes[index].process.stop()
                past.append(nodes.remove(at: index))
                nodes.append(try await start())
            case 1:
                let process = nodes[index].process
                process.suspend()
                try await Task.sleep(for: .milliseconds(Int.random(in: 0...4000, using: &random)))
                process.resume()
            case 2:
                guard let server else { break }
                try await server.suspend()
                try await Task.sleep(for: .milliseconds(Int.random(in: 0...3000, using: &random)))
                server.resume()
            default: break
            }
        }
        for node in nodes { node.process.stop() }
        let all = (nodes + past).flatMap(\.uses)
        #expect(largestCount(all) <= 20)
        #expect(all.count > (LongRun.isWanted ? 20 : 0))
    }
}

extension Array {
    /// Returns the index of the first element that fulfills the condition, which all later ones do too.
    fileprivate func partitionIndex(where condition: (Element) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if condition(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
