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
        var watchers: [UInt64: Watcher] = [:]
        var lastWatcher: UInt64 = 0
    }

    private struct Watcher {
        let key: String
        let continuation: AsyncThrowingStream<FleetRecord?, any Error>.Continuation
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
        return state.withLock { state in
            let old = state.records[key]
            guard old?.revision == revision else { return .changed(old) }
            if bytes == nil, revision == nil { return .written(nil) }
            state.lastRevision += 1
            let new = bytes.map { FleetRecord(bytes: $0, revision: FleetRevision(state.lastRevision)) }
            state.records[key] = new
            // Under the lock, so that they stay in order. A stream only keeps what it is given.
            for watcher in state.watchers.values where watcher.key == key { watcher.continuation.yield(new) }
            return .written(new?.revision)
        }
    }

    /// Returns the record now, and after each change.
    public func changes(of key: String) -> AsyncThrowingStream<FleetRecord?, any Error> {
        let (stream, continuation) = AsyncThrowingStream.makeStream(
            of: FleetRecord?.self, throwing: (any Error).self, bufferingPolicy: .bufferingNewest(1))
        do throws(FleetStoreError) {
            try FleetRecordRules.check(key)
        } catch {
            continuation.finish(throwing: error)
            return stream
        }
        let number = state.withLock { state in
            state.lastWatcher += 1
            state.watchers[state.lastWatcher] = Watcher(key: key, continuation: continuation)
            continuation.yield(state.records[key])
            return state.lastWatcher
        }
        continuation.onTermination = { [weak self] _ in
            // Released outside the lock.
            let watcher = self?.state.withLock { $0.watchers.removeValue(forKey: number) }
            withExtendedLifetime(watcher) {}
        }
        return stream
    }

    deinit {
        for watcher in state.withLock({ $0.watchers }).values { watcher.continuation.finish() }
    }
}
