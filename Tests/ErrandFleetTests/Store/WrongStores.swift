import Errand
import ErrandFleet
import ErrandSimulation

/// A store that keeps no promise that it is told to break.
final class WrongStore: FleetStore {
    enum Fault: String, Sendable, CaseIterable {
        /// It compares the revision, and writes a moment later.
        case losesUpdates
        /// It replaces any revision.
        case ignoresRevisions
        /// Two writers of one revision both succeed; the second changes nothing.
        case letsTwoWin
        /// A watch returns records out of their order.
        case reordersChanges
        /// A watch ends with an older record than the last.
        case dropsLastChange
        /// A removed record's revisions begin anew.
        case forgetsRevisions
        /// A read returns what was there a moment ago.
        case readsStaleRecords
    }

    private struct State {
        var records: [String: FleetRecord] = [:]
        var stale: [String: FleetRecord] = [:]
        var last: UInt64 = 0
        var won: Set<FleetRevision> = []
        /// All records that were written, by their keys.
        var history: [String: [FleetRecord]] = [:]
    }

    private let fault: Fault
    private let right = MemoryFleetStore()
    private let state = Lock(State())

    init(_ fault: Fault) { self.fault = fault }

    func read(_ key: String) async throws(FleetStoreError) -> FleetRecord? {
        let record = try await right.read(key)
        switch fault {
        case .forgetsRevisions: return state.withLock { $0.records[key] }
        case .readsStaleRecords:
            return state.withLock { state in
                defer { state.stale[key] = record }
                return state.stale[key] ?? record
            }
        default: return record
        }
    }

    func write(
        _ bytes: [UInt8]?, to key: String, replacing revision: FleetRevision?
    ) async throws(FleetStoreError) -> FleetWrite {
        switch fault {
        case .losesUpdates:
            let record = try await right.read(key)
            guard record?.revision == revision else { return .changed(record) }
            for _ in 0..<20 { await Task.yield() }
            return try await overwrite(bytes, key)
        case .ignoresRevisions: return try await overwrite(bytes, key)
        case .letsTwoWin:
            let written = try await right.write(bytes, to: key, replacing: revision)
            guard case .changed(let record?) = written, let revision, bytes != nil else { return written }
            let isSecond = state.withLock { $0.won.insert(revision).inserted }
            return isSecond ? .written(FleetRevision(record.revision.number)) : written
        case .forgetsRevisions:
            return state.withLock { state in
                let old = state.records[key]
                guard old?.revision == revision else { return .changed(old) }
                let next = FleetRevision((old?.revision.number ?? 0) + 1)
                state.records[key] = bytes.map { FleetRecord(bytes: $0, revision: next) }
                return .written(bytes == nil ? nil : next)
            }
        case .reordersChanges:
            let written = try await right.write(bytes, to: key, replacing: revision)
            if case .written(let revision?) = written, let bytes {
                state.withLock { $0.history[key, default: []].append(FleetRecord(bytes: bytes, revision: revision)) }
            }
            return written
        case .dropsLastChange, .readsStaleRecords:
            return try await right.write(bytes, to: key, replacing: revision)
        }
    }

    private func overwrite(_ bytes: [UInt8]?, _ key: String) async throws(FleetStoreError) -> FleetWrite {
        while true {
            let record = try await right.read(key)
            let written = try await right.write(bytes, to: key, replacing: record?.revision)
            if case .written = written { return written }
        }
    }

    /// Returns the two records before that one. A slow watch may not have seen them.
    private func past(of key: String, before record: FleetRecord?) -> [FleetRecord] {
        guard let revision = record?.revision else { return [] }
        return state.withLock { state in
            (state.history[key] ?? []).filter { $0.revision < revision }.sorted { $0.revision < $1.revision }.suffix(2)
        }
    }

    func changes(of key: String) -> AsyncThrowingStream<FleetRecord?, any Error> {
        guard fault == .reordersChanges || fault == .dropsLastChange else { return right.changes(of: key) }
        let (stream, continuation) = AsyncThrowingStream.makeStream(of: FleetRecord?.self, throwing: (any Error).self)
        let task = Task { [right, fault] in
            var earlier: FleetRecord??
            for try await record in right.changes(of: key) {
                if fault == .reordersChanges {
                    for old in past(of: key, before: record).reversed() { continuation.yield(old) }
                    continuation.yield(record)
                } else {
                    continuation.yield(earlier ?? record)
                }
                earlier = .some(record)
            }
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }
}
