package import Errand

/// Follows a record: what the store's watch reports, and reads beside it.
///
/// A watch that is dead looks like an idle one. So when it has reported nothing for half a minute, the record is read
/// beside it. If the watch does not bring what that found a moment later, it is dead: what was found is passed on, and
/// the reader begins another watch.
package struct RecordWatch: Sendable {
    /// The usual interval of the reads.
    package static let interval = Duration.seconds(30)
    /// How long the watch may take longer than a read.
    private static let delay = Duration.seconds(2)

    private struct Reported {
        /// The record that was reported last; the outer `nil` before the first.
        var record: FleetRecord??
        var reports = 0
        /// When the watch has reported something last, or the record was read beside it.
        var lastNews: Instant
    }

    private final class State: Sendable {
        let reported: Lock<Reported>

        init(at now: Instant) {
            reported = Lock(Reported(lastNews: now))
        }
    }

    private let key: String
    private let store: any FleetStore
    private let time: any TimeSource
    private let interval: Duration

    /// Creates a watch that reads at that interval, on average, while the store reports nothing.
    package init(
        of key: String, in store: any FleetStore, time: any TimeSource, readingEvery interval: Duration = interval
    ) {
        self.key = key
        self.store = store
        self.time = time
        self.interval = interval
    }

    /// Passes on the record as it is, and after each change, until the watch ends. Throws if it fails or is dead.
    package func run(
        _ pass: @escaping @Sendable (FleetRecord?) async throws(FleetStoreError) -> Void
    ) async throws(FleetStoreError) {
        let state = State(at: time.now)
        let failure = await withTaskGroup(of: FleetStoreError?.self) { group in
            group.addTask { await follow(state, pass) }
            group.addTask { await readBeside(state, pass) }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
        if let failure { throw failure }
    }

    private func follow(
        _ state: State, _ pass: @Sendable (FleetRecord?) async throws(FleetStoreError) -> Void
    ) async -> FleetStoreError? {
        do {
            for try await record in store.changes(of: key) {
                let now = time.now
                state.reported.withLock { reported in
                    (reported.record, reported.lastNews) = (.some(record), now)
                    reported.reports += 1
                }
                try await pass(record)
            }
            return nil
        } catch {
            // The store may be a user's, whose stream can throw anything.
            return error as? FleetStoreError ?? FleetStoreError(.other, String(reflecting: error))
        }
    }

    /// Returns why the watch has to begin again.
    private func readBeside(
        _ state: State, _ pass: @Sendable (FleetRecord?) async throws(FleetStoreError) -> Void
    ) async -> FleetStoreError {
        do throws(FleetStoreError) {
            while true {
                let before = state.reported.withLock { $0 }
                // At different moments on different nodes.
                let part = 0.9 + Double(time.random() % 1000) / 5000
                try await sleep(until: before.lastNews.advanced(by: interval * part))
                let last = state.reported.withLock { $0 }
                guard last.reports == before.reports else { continue }
                let found = try await store.read(key)
                if last.record != .some(found) {
                    try await sleep(until: time.now.advanced(by: Self.delay))
                    if state.reported.withLock({ $0.reports }) == last.reports {
                        try await pass(found)
                        return FleetStoreError(.unreachable, "the watch of \(key) does not report what has changed")
                    }
                }
                let now = time.now
                state.reported.withLock { $0.lastNews = now }
            }
        } catch {
            return error
        }
    }

    private func sleep(until instant: Instant) async throws(FleetStoreError) {
        try await time.sleep(until: instant, for: .watch("a read beside a watch"), in: StopScope<FleetStoreError>())
    }
}
