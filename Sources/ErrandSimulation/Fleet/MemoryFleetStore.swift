import Errand
public import ErrandFleet

/// A fleet's store in memory, for tests: its records end with it.
///
///     let store = MemoryFleetStore()
///
/// Give it to each node of a test, which then share what it keeps. It keeps all promises of `FleetStore`, and never
/// fails.
public final class MemoryFleetStore: FleetStore {
    private struct State {
        var records: [String: FleetRecord] = [:]
        var lastRevision: UInt64 = 0
        /// The changes of the keys that are watched.
        var changes: [String: Broadcast<FleetRecord?>] = [:]
    }

    private let state = Lock(State())

    /// Creates an empty store.
    public init() {}

    /// Returns the record under a key; `nil` if there is none.
    public func read(_ key: String) async throws(FleetStoreError) -> FleetRecord? {
        try FleetRecordRules.check(key)
        if Task.isCancelled { throw .cancelled }
        return state.withLock { $0.records[key] }
    }

    /// Writes or removes a record, if it still has that revision.
    public func write(
        _ bytes: [UInt8]?, to key: String, replacing revision: FleetRevision?
    ) async throws(FleetStoreError) -> FleetWrite {
        try FleetRecordRules.check(key, bytes)
        if Task.isCancelled { throw .cancelled }
        let (outcome, watching): (FleetWrite, WaitingTasks?) = state.withLock { state in
            let old = state.records[key]
            guard old?.revision == revision else { return (.changed(old), nil) }
            if bytes == nil, revision == nil { return (.written(nil), nil) }
            state.lastRevision += 1
            let new = bytes.map { FleetRecord(bytes: $0, revision: FleetRevision(state.lastRevision)) }
            state.records[key] = new
            // Under the lock, so that they stay in order.
            return (.written(new?.revision), state.changes[key]?.queue(CollectionOfOne(new)))
        }
        watching?.resume()
        return outcome
    }

    /// Returns the record now, and after each change.
    public func changes(of key: String) -> AsyncThrowingStream<FleetRecord?, any Error> {
        do throws(FleetStoreError) {
            try FleetRecordRules.check(key)
        } catch {
            return AsyncThrowingStream { $0.finish(throwing: error) }
        }
        let changes = state.withLock { state in
            state.changes = state.changes.filter { $0.value.hasListeners }
            let changes = state.changes[key] ?? Broadcast()
            state.changes[key] = changes
            return changes.stream(first: .some(state.records[key]), capacity: 1)
        }
        return AsyncThrowingStream { await changes.first { _ in true } }
    }
}
