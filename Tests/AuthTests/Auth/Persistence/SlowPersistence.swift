import Errand
import ErrandTesting

/// A slow persistence that throws when its task is cancelled.
final class SlowPersistence: TokenPersistence {
    let saved = MemoryTokenPersistence()
    private let clock: TestClock
    private let takes: Duration
    private let running = Lock((now: 0, most: 0))

    init(_ clock: TestClock, takes: Duration = .milliseconds(50)) {
        self.clock = clock
        self.takes = takes
    }

    /// The largest number of loads and saves that ran at once.
    var mostAtOnce: Int { running.withLock { $0.most } }

    func load() async throws -> SavedSession? {
        try await pass()
        return saved.load()
    }

    func save(_ session: SavedSession?) async throws {
        try await pass()
        saved.save(session)
    }

    func replace(_ version: SavedSession.Version, with session: SavedSession?) async throws -> Bool {
        try await pass()
        return await saved.replace(version, with: session)
    }

    private func pass() async throws {
        running.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
        defer { running.withLock { $0.now -= 1 } }
        try await clock.sleep(for: takes)
    }
}
