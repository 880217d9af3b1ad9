import Errand
import ErrandFleet
import ErrandSimulation

/// A store in memory that can stop responding, and counts what it is asked.
final class TroubledStore: FleetStore {
    private struct State {
        var failure: FleetStoreError?
        var reads = 0
        /// The reads of nodes' records.
        var looks = 0
        var writes = 0
        var losesResponses = false
        var repeatsWrites = false
        var takesNames = false
        var keys: Set<String> = []
    }

    private let memory: MemoryFleetStore
    private let state = Lock(State())

    init(_ memory: MemoryFleetStore = MemoryFleetStore()) {
        self.memory = memory
    }

    /// The same records, on another way.
    var another: TroubledStore { TroubledStore(memory) }

    /// Why every read and write fails now; `nil` if none does.
    var failure: FleetStoreError? {
        get { state.withLock { $0.failure } }
        set { state.withLock { $0.failure = newValue } }
    }

    /// Whether writes are made, but their responses are lost.
    var losesResponses: Bool {
        get { state.withLock { $0.losesResponses } }
        set { state.withLock { $0.losesResponses = newValue } }
    }

    /// Whether something on the way sends each write twice, and passes on the second answer.
    var repeatsWrites: Bool {
        get { state.withLock { $0.repeatsWrites } }
        set { state.withLock { $0.repeatsWrites = newValue } }
    }

    /// Whether somebody else has every name that a node takes.
    var takesNames: Bool {
        get { state.withLock { $0.takesNames } }
        set { state.withLock { $0.takesNames = newValue } }
    }

    /// The keys of all records that were written by this way, and are still there.
    var keys: Set<String> { state.withLock { $0.keys } }

    var looks: Int { state.withLock { $0.looks } }
    var reads: Int { state.withLock { $0.reads } }
    var requests: Int { state.withLock { $0.reads + $0.writes } }

    static let unreachable = FleetStoreError(.unreachable, "the store of the test does not respond")

    func read(_ key: String) async throws(FleetStoreError) -> FleetRecord? {
        state.withLock { state in
            state.reads += 1
            if key.contains("/nodes/") { state.looks += 1 }
        }
        if let failure { throw failure }
        return try await memory.read(key)
    }

    func write(
        _ bytes: [UInt8]?, to key: String, replacing revision: FleetRevision?
    ) async throws(FleetStoreError) -> FleetWrite {
        state.withLock { $0.writes += 1 }
        if let failure { throw failure }
        if takesNames, key.contains("/nodes/") { return .changed(FleetRecord(bytes: [1], revision: FleetRevision(1))) }
        if repeatsWrites { _ = try await memory.write(bytes, to: key, replacing: revision) }
        let outcome = try await memory.write(bytes, to: key, replacing: revision)
        if case .written(let revision) = outcome {
            state.withLock { state in
                if revision == nil { state.keys.remove(key) } else { state.keys.insert(key) }
            }
        }
        if losesResponses { throw Self.unreachable }
        return outcome
    }

    func changes(of key: String) -> AsyncThrowingStream<FleetRecord?, any Error> { memory.changes(of: key) }

    /// Removes a record from outside.
    func remove(_ key: String) async throws {
        let record = try await memory.read(key)
        _ = try await memory.write(nil, to: key, replacing: record?.revision)
    }
}
