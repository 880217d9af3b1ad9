import Errand
import ErrandFleet
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The environment of a case of ``FleetStoreConformance``: several nodes with one store, and methods that check
/// expectations.
final class FleetStoreScene: Sendable {
    /// The finding of a case, before the name of the case is added.
    struct Surprise: Error {
        let expected: String
        let seen: String

        init(_ expected: String, _ seen: String) {
            self.expected = expected
            self.seen = seen
        }
    }

    typealias Changes = AsyncThrowingStream<FleetRecord?, any Error>

    /// The time limit of a case.
    static let longest = Duration.seconds(120)
    /// The time limit for one step, even on a busy machine.
    static let timeLimit = Duration.seconds(20)

    /// The store, as several nodes have opened it.
    let nodes: [any FleetStore]
    private let prefix = "conformance/\(UUID().uuidString)/"
    private let keys = Lock<Set<String>>([])

    init(_ nodes: [any FleetStore]) {
        self.nodes = nodes
    }

    var store: any FleetStore { nodes[0] }
    var other: any FleetStore { nodes[1] }

    /// Returns a key of this case only.
    func key(_ name: String = "a") -> String {
        let key = prefix + name
        keys.withLock { _ = $0.insert(key) }
        return key
    }

    /// Removes what the case has left. What cannot be removed stays: the case is over.
    func removeAll() async {
        for key in keys.withLock({ $0 }) {
            for _ in 0..<3 {
                guard let record = try? await store.read(key) else { break }
                _ = try? await store.write(nil, to: key, replacing: record.revision)
            }
        }
    }

    /// Writes, and expects that the revision is the record's.
    @discardableResult
    func write(
        _ bytes: [UInt8], to key: String, replacing revision: FleetRevision?, at node: (any FleetStore)? = nil
    ) async throws -> FleetRevision {
        let written = try await (node ?? store).write(bytes, to: key, replacing: revision)
        guard case .written(let next?) = written else { throw Self.surprise("the record is written", written) }
        return next
    }

    /// Removes a record, and expects that the revision is the record's.
    func remove(_ key: String, replacing revision: FleetRevision, at node: (any FleetStore)? = nil) async throws {
        let written = try await (node ?? store).write(nil, to: key, replacing: revision)
        try expect("the result of a removal", written, is: .written(nil))
    }

    /// Adds one to the number that a record holds, until that succeeds.
    func increment(_ key: String, at node: any FleetStore) async throws {
        while true {
            let record = try await node.read(key)
            let number = Self.number(in: record) + 1
            let written = try await node.write(Self.bytes(number), to: key, replacing: record?.revision)
            if case .written = written { return }
        }
    }

    static func bytes(_ number: Int) -> [UInt8] { Array("\(number)".utf8) }

    static func number(in record: FleetRecord?) -> Int {
        record.flatMap { Int(String(decoding: $0.bytes, as: UTF8.self)) } ?? 0
    }

    /// Returns the next element of a watch.
    func next(_ expected: String, of iterator: inout Changes.AsyncIterator) async throws -> FleetRecord? {
        let time = SystemTime.system
        let expiry = AsyncStream.makeStream(of: Void.self)
        let alarm = time.schedule(at: time.now.advanced(by: Self.timeLimit), for: .watch) {
            expiry.continuation.finish()
        }
        defer { alarm.cancel() }
        let changes = Box(iterator)
        let found = try await withThrowingTaskGroup(of: FleetRecord??.self) { group in
            group.addTask { try await changes.next() }
            group.addTask {
                for await _ in expiry.stream {}
                return nil
            }
            defer { group.cancelAll() }
            return try await group.next() ?? nil
        }
        iterator = changes.iterator
        guard let found else { throw Self.surprise(expected, "nothing within \(Self.timeLimit), or the end") }
        return found
    }

    /// Reads a watch until an element meets the condition. Returns all elements.
    @discardableResult
    func read(
        _ changes: Changes, until expected: String, _ isLast: (FleetRecord?) -> Bool
    ) async throws -> [FleetRecord?] {
        var iterator = changes.makeAsyncIterator()
        var elements: [FleetRecord?] = []
        while true {
            let element = try await next(expected, of: &iterator)
            elements.append(element)
            if isLast(element) { return elements }
        }
    }

    /// Expects a condition.
    func expect(_ expected: String, _ isSo: Bool, seen: @autoclosure () -> Any) throws {
        guard isSo else { throw Self.surprise(expected, seen()) }
    }

    /// Expects that two values are equal.
    func expect<Value: Equatable>(_ what: String, _ seen: Value, is expected: Value) throws {
        guard seen == expected else { throw Self.surprise("\(what): \(expected)", seen) }
    }

    /// Expects an error of that kind.
    func expect<Value>(
        _ kind: FleetStoreError.Kind, of what: String, _ body: () async throws(FleetStoreError) -> Value
    ) async throws {
        let value: Value
        do throws(FleetStoreError) {
            value = try await body()
        } catch {
            return try expect("the error of \(what)", error.kind, is: kind)
        }
        throw Self.surprise("\(what) fails with \(kind)", value)
    }

    static func surprise(_ expected: String, _ seen: Any) -> Surprise {
        Surprise(expected, String(reflecting: seen))
    }
}

/// The iterator of a watch, for the child task that waits for its next element.
///
/// `@unchecked Sendable`: one task at a time uses it.
private final class Box: @unchecked Sendable {
    var iterator: FleetStoreScene.Changes.AsyncIterator

    init(_ iterator: FleetStoreScene.Changes.AsyncIterator) {
        self.iterator = iterator
    }

    func next() async throws -> FleetRecord?? { try await iterator.next() }
}
