import Errand
import ErrandFleet
import ErrandTestSupport
import ErrandTesting

/// A store that makes writes at once. Its answers to those under some keys come late, in virtual time, or get lost.
final class LateStore: FleetStore {
    private let store: any FleetStore
    private let keys: String
    private let delay: Duration
    private let clock: TestClock
    private let lost: Set<Int>
    private let last: Int
    private let sent = Noted<[Instant]>([])

    /// Creates a store.
    ///
    /// - Parameters:
    ///   - lost: The numbers, from 1, of the writes under those keys whose answers get lost.
    ///   - last: The number of the last write under those keys that arrives.
    init(
        _ store: any FleetStore, keys: String, by delay: Duration, losing lost: Set<Int> = [], upTo last: Int = .max,
        clock: TestClock
    ) {
        (self.store, self.keys, self.delay, self.clock) = (store, keys, delay, clock)
        (self.lost, self.last) = (lost, last)
    }

    /// When the writes under those keys were sent.
    var writes: [Instant] { sent.value }

    func read(_ key: String) async throws(FleetStoreError) -> FleetRecord? { try await store.read(key) }

    func write(
        _ bytes: [UInt8]?, to key: String, replacing revision: FleetRevision?
    ) async throws(FleetStoreError) -> FleetWrite {
        guard key.hasPrefix(keys) else { return try await store.write(bytes, to: key, replacing: revision) }
        sent.update { $0.append(clock.now) }
        let number = sent.value.count
        guard number <= last else { throw FleetStoreError(.unreachable, "the write was lost") }
        let outcome = try await store.write(bytes, to: key, replacing: revision)
        // A canceled task does not wait for the answer.
        try? await clock.sleep(for: delay)
        if lost.contains(number) { throw FleetStoreError(.unreachable, "the answer was lost") }
        return outcome
    }

    func changes(of key: String) -> AsyncThrowingStream<FleetRecord?, any Error> { store.changes(of: key) }
}
