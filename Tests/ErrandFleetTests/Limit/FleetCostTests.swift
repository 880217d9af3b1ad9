import Errand
@testable import ErrandFleet
import ErrandSimulation
import ErrandTesting
import Foundation
import Testing

@Suite("What a fleet costs its store", .timeLimit(.minutes(10))) struct FleetCostTests {
    private static let nodes = 100
    private let clock = TestClock()
    private let store = CountingStore()
    private let limit: RateLimit = .requests(Self.nodes, per: .seconds(1))

    /// Writes a record in which each node has one permit: the state after all of them have joined.
    private func share(_ nodes: [Fleet]) async throws {
        let settings = SharedLimitSettings(limit.windows[0], lifetime: .seconds(12))
        var record = LimitRecord(permits: settings.permits, period: settings.period)
        for node in nodes {
            record.update(node.snapshot.node) { $0.owned = 1 }
            record.note(settings.lifetime, of: node.snapshot.node)
        }
        record.free = 0
        let key = "errand/\(nodes[0].name)/limits/api"
        _ = try await store.write(record.encoded(), to: key, replacing: nil)
    }

    @Test("F11: a thousand nodes in a steady state ask the store for as much as the article computes")
    func thousand() async throws {
        // As the article recommends: several fleets.
        let fleets = (0..<10).map { number in
            (0..<Self.nodes).map { Fleet(store: store, name: "f\(number)", node: "\($0)", time: clock) }
        }
        for fleet in fleets { try await share(fleet) }
        let limiters = fleets.joined().map { $0.limiter("api", limit) }
        try await clock.run {
            // Past the moments at which something is due.
            try await clock.sleep(for: .seconds(13))
            #expect(fleets.joined().allSatisfy { $0.snapshot.limits.first?.owned == 1 })
            let before = store.counts
            // What is due every four seconds, and every six.
            let seconds = 12
            try await clock.sleep(for: .seconds(seconds))
            let after = store.counts
            let renewals = Double(after.writes - before.writes) / Double(seconds)
            let looks = Double(after.looks - before.looks) / Double(seconds)
            try await clock.sleep(for: .seconds(33 - seconds))
            // Each once, between the earliest and the latest moment.
            #expect(store.counts.readsBeside - before.readsBeside >= 1000)
            let beside = 1000 / (RecordWatch.interval / .seconds(1))
            for (row, measured) in [
                ("Renewals", renewals), ("Looks", looks), ("Reads beside", beside),
                ("Together", renewals + looks + beside),
            ] {
                let computed = try Self.requests(of: row)
                #expect(computed == Int(measured.rounded()), "\(row)")
            }
            // There is nothing to return then, for which they would compete.
            for fleet in fleets { try await store.remove("errand/\(fleet[0].name)/limits/api") }
            await withTaskGroup { group in
                for node in fleets.joined() { group.addTask { await node.leave() } }
            }
        }
        withExtendedLifetime(limiters) {}
    }

    /// Returns the requests per second of a thousand nodes in a row of the article's table.
    private static func requests(of row: String) throws -> Int {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "../../..").standardized
        let article = try String(contentsOf: root.appending(path: "Docs.docc/SharingLimits.md"), encoding: .utf8)
        let line = try #require(article.split(separator: "\n").first { $0.hasPrefix("| \(row)") })
        let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        return try #require(cells.dropFirst(2).first.flatMap { Int($0) })
    }
}

/// A store in memory that counts what it is asked.
private final class CountingStore: FleetStore {
    private let memory = MemoryFleetStore()
    private let counted = Lock((looks: 0, readsBeside: 0, writes: 0))

    var counts: (looks: Int, readsBeside: Int, writes: Int) { counted.withLock { $0 } }

    func read(_ key: String) async throws(FleetStoreError) -> FleetRecord? {
        let isLook = key.contains("/nodes/")
        counted.withLock { isLook ? ($0.looks += 1) : ($0.readsBeside += 1) }
        return try await memory.read(key)
    }

    func write(
        _ bytes: [UInt8]?, to key: String, replacing revision: FleetRevision?
    ) async throws(FleetStoreError) -> FleetWrite {
        counted.withLock { $0.writes += 1 }
        return try await memory.write(bytes, to: key, replacing: revision)
    }

    func changes(of key: String) -> AsyncThrowingStream<FleetRecord?, any Error> { memory.changes(of: key) }

    func remove(_ key: String) async throws {
        let record = try await memory.read(key)
        _ = try await memory.write(nil, to: key, replacing: record?.revision)
    }
}
