import Errand
import ErrandFleet

extension FleetStoreConformance {
    /// What a watch returns.
    static let changes: [Case] = [
        Case("S13", "a watch begins with the record as it is") { scene in
            let key = scene.key()
            var iterator = scene.store.changes(of: key).makeAsyncIterator()
            try scene.expect("without a record", try await scene.next("an element", of: &iterator), is: nil)
            let revision = try await scene.write([1], to: key, replacing: nil)
            var second = scene.other.changes(of: key).makeAsyncIterator()
            try scene.expect(
                "with a record", try await scene.next("an element", of: &second),
                is: FleetRecord(bytes: [1], revision: revision))
        },
        Case("S14", "a watch returns each change that another waits for: writes, removals and new records") { scene in
            let key = scene.key()
            var iterator = scene.store.changes(of: key).makeAsyncIterator()
            _ = try await scene.next("the record now", of: &iterator)
            for round in 0..<5 {
                let first = try await scene.write([UInt8(round)], to: key, replacing: nil, at: scene.other)
                try scene.expect(
                    "a new record", try await scene.next("a new record", of: &iterator)?.revision, is: first)
                let second = try await scene.write([UInt8(round)], to: key, replacing: first)
                try scene.expect(
                    "a changed record", try await scene.next("a change", of: &iterator)?.revision, is: second)
                try await scene.remove(key, replacing: second, at: scene.other)
                try scene.expect("a removed record", try await scene.next("a removal", of: &iterator), is: nil)
            }
        },
        Case("S15", "a watch never goes back to an older record, and ends with the last") { scene in
            // One after the other first: a watch that is read slowly may leave records out, also those that are late.
            let slow = scene.key("slow")
            var iterator = scene.store.changes(of: slow).makeAsyncIterator()
            var seen: [Int] = []
            for number in 1...5 {
                try await scene.increment(slow, at: scene.nodes[number % scene.nodes.count])
                repeat {
                    let record = try await scene.next("record \(number)", of: &iterator)
                    seen.append(FleetStoreScene.number(in: record))
                } while seen.last != number && seen.count < 100
            }
            let isSlowInOrder = zip(seen, seen.dropFirst()).allSatisfy { $0 <= $1 }
            try scene.expect("records in order", isSlowInOrder, seen: seen)
            let key = scene.key()
            let count = 60
            let watches = scene.nodes.map { node in
                Task {
                    try await scene.read(node.changes(of: key), until: "the last record") {
                        FleetStoreScene.number(in: $0) == count
                    }
                }
            }
            try await withThrowingTaskGroup { group in
                for node in scene.nodes {
                    group.addTask {
                        for _ in 0..<count / scene.nodes.count { try await scene.increment(key, at: node) }
                    }
                }
                try await group.waitForAll()
            }
            for watch in watches {
                let numbers = try await watch.value.map { FleetStoreScene.number(in: $0) }
                let isInOrder = zip(numbers, numbers.dropFirst()).allSatisfy { $0 <= $1 }
                try scene.expect("records in order", isInOrder, seen: numbers)
            }
        },
        Case("S16", "a watch is silent about other keys") { scene in
            let key = scene.key("a")
            let others = [scene.key("a/b"), scene.key("aa"), scene.key("A")]
            var iterator = scene.store.changes(of: key).makeAsyncIterator()
            _ = try await scene.next("the record now", of: &iterator)
            for other in others { try await scene.write([1], to: other, replacing: nil) }
            let revision = try await scene.write([2], to: key, replacing: nil)
            try scene.expect(
                "the first change", try await scene.next("a change", of: &iterator),
                is: FleetRecord(bytes: [2], revision: revision))
        },
        Case("S17", "a watch ends with the task that reads it, and others go on") { scene in
            let key = scene.key()
            let (begun, begin) = AsyncStream.makeStream(of: Void.self)
            let watch = Task {
                for try await _ in scene.store.changes(of: key) { begin.yield() }
                begin.finish()
            }
            for await _ in begun { break }
            var other = scene.store.changes(of: key).makeAsyncIterator()
            _ = try await scene.next("the record now", of: &other)
            watch.cancel()
            _ = await watch.result
            let revision = try await scene.write([1], to: key, replacing: nil)
            try scene.expect(
                "the change for another watch", try await scene.next("a change", of: &other)?.revision, is: revision)
        },
        Case("S18", "a watch of a key that no store keeps fails as invalid") { scene in
            do {
                for try await element in scene.store.changes(of: "a b") {
                    throw FleetStoreScene.surprise("an error", element as Any)
                }
                throw FleetStoreScene.surprise("an error", "the end")
            } catch let error as FleetStoreError {
                try scene.expect("the error", error.kind, is: .invalid)
            }
        },
        Case("S19", "a change that a watch does not report is found by a read beside it") { scene in
            let key = scene.key()
            let watch = RecordWatch(
                of: key, in: SilentStore(scene.store), time: .system, readingEvery: .milliseconds(100))
            let (records, record) = AsyncThrowingStream.makeStream(of: FleetRecord?.self, throwing: (any Error).self)
            let reader = Task {
                while !Task.isCancelled {
                    do throws(FleetStoreError) {
                        try await watch.run { record.yield($0) }
                    } catch {
                        if error.kind != .unreachable { record.finish(throwing: error) }
                    }
                }
            }
            defer { reader.cancel() }
            var iterator = records.makeAsyncIterator()
            try scene.expect("no record", try await scene.next("the record now", of: &iterator), is: nil)
            let revision = try await scene.write([1], to: key, replacing: nil, at: scene.other)
            try scene.expect(
                "the change", try await scene.next("the change", of: &iterator),
                is: FleetRecord(bytes: [1], revision: revision))
        },
    ]
}

/// A store whose watches report nothing after the record as it is, as if their connections were dead.
private struct SilentStore: FleetStore {
    let store: any FleetStore

    init(_ store: any FleetStore) {
        self.store = store
    }

    func read(_ key: String) async throws(FleetStoreError) -> FleetRecord? { try await store.read(key) }

    func write(
        _ bytes: [UInt8]?, to key: String, replacing revision: FleetRevision?
    ) async throws(FleetStoreError) -> FleetWrite {
        try await store.write(bytes, to: key, replacing: revision)
    }

    func changes(of key: String) -> AsyncThrowingStream<FleetRecord?, any Error> {
        RecordStream.following { pass throws(FleetStoreError) in
            do {
                for try await record in store.changes(of: key) {
                    pass(record)
                    break
                }
                try await Task.sleep(for: .seconds(86400))
            } catch {
                throw error as? FleetStoreError ?? .cancelled
            }
        }
    }
}
