import ErrandFleet
import ErrandTestSupport
import Foundation
import Testing

@Suite("A limit that processes share", .serialized, .timeLimit(.minutes(5))) struct LimitProcessTests {
    private let scratch: FleetScratch

    init() throws {
        scratch = try FleetScratch()
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
        _ name: String, store: String? = nil, permits: Int, lifetime: Int = 3000, tasks: Int, seconds: Int
    ) async throws -> Node {
        let file = scratch.path(name)
        let process = try Subprocess(
            Subprocess.sibling("FleetNode"),
            [store ?? scratch.path("store"), "\(permits)", "1000", "\(lifetime)", "\(tasks)", "\(seconds)", file])
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

    private var seconds: Int { ProcessInfo.processInfo.environment["ERRAND_LONG_RUN"] == nil ? 8 : 60 }

    @Test("F1: three processes use one limit up, and no rolling second has more")
    func heavyUse() async throws {
        var nodes: [Node] = []
        for name in ["a", "b", "c"] {
            nodes.append(try await start(name, permits: 50, tasks: 30, seconds: seconds))
        }
        for node in nodes { _ = try await node.process.outcome() }
        let all = nodes.flatMap(\.uses)
        #expect(largestCount(all) <= 50)
        // Without the first and the last second, in which not all of them run.
        let begin = (nodes.compactMap { $0.uses.first?.before }.max() ?? 0) + 1_000_000_000
        let end = (nodes.compactMap { $0.uses.last?.before }.min() ?? 0) - 1_000_000_000
        let used = all.count { (begin..<end).contains($0.before) }
        #expect(Double(used) >= 0.9 * 50 * Double(end - begin) / 1e9)
        #expect(nodes.allSatisfy { $0.uses.count >= seconds * 50 / 6 })
    }

    @Test("F3: a process is killed, and its permits are in use elsewhere after a lifetime and a period")
    func killed() async throws {
        let first = try await start("a", permits: 30, lifetime: 2000, tasks: 30, seconds: 60)
        let second = try await start("b", permits: 30, lifetime: 2000, tasks: 30, seconds: 14)
        try await Task.sleep(for: .seconds(4))
        first.process.stop()
        let death = first.uses.last?.before ?? 0
        _ = try await second.process.outcome()
        #expect(largestCount(first.uses + second.uses) <= 30)
        let late = second.uses.count { $0.before > death + 6_000_000_000 }
        let span = Double((second.uses.last?.before ?? 0) - death - 6_000_000_000) / 1e9
        #expect(span > 2)
        #expect(Double(late) >= 0.85 * 30 * span, "all permits are in use")
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
        #expect(first.uses.count > 30)
    }

    #if os(Linux)
    @Test(
        "F12: over a folder and over etcd, processes that are killed, stopped and started at random keep the limit",
        arguments: ServerProgram.etcd.isInstalled ? [false, true] : [false])
    func walk(isEtcd: Bool) async throws {
        let cluster = isEtcd ? try await EtcdCluster() : nil
        if let cluster { try await cluster.isReady(for: EtcdFleetStore(cluster.addresses)) }
        var random = SeededGenerator(seed: UInt64(seconds))
        var (nodes, past): ([Node], [Node]) = ([], [])
        func start() async throws -> Node {
            let name = "node-\(nodes.count + past.count)"
            return try await self.start(
                name, store: cluster?.addresses.first, permits: 20, lifetime: 2000, tasks: 10, seconds: seconds + 60)
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
            case 2 where cluster != nil:
                cluster?.suspend(0)
                try await Task.sleep(for: .milliseconds(Int.random(in: 0...3000, using: &random)))
                cluster?.resume(0)
            default: break
            }
        }
        for node in nodes { node.process.stop() }
        let all = (nodes + past).flatMap(\.uses)
        #expect(largestCount(all) <= 20)
        #expect(all.count > seconds * 4)
    }
    #endif
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
