import Errand

/// A saved session that several stores share, as through a service that notifies each of them of the others' changes.
/// Its lock is a lease, which a test can revoke.
final class SharedSession: Sendable {
    private struct State {
        var session: SavedSession?
        var holder: SessionLock?
        var waiting: [CheckedContinuation<Void, Never>] = []
        var listeners: [Int: AsyncStream<Void>.Continuation] = [:]
        var lastHandle = 0
        var loads = 0
        var acquisitionError: TokenPersistenceError?
    }

    private let state = Lock(State())

    /// The session that is saved.
    var saved: SavedSession? { state.withLock { $0.session } }
    var loads: Int { state.withLock { $0.loads } }
    /// The number of stores that listen.
    var listeners: Int { state.withLock { $0.listeners.count } }

    /// Returns the persistence of one store.
    func handle() -> Handle {
        Handle(
            shared: self,
            number: state.withLock { state in
                state.lastHandle += 1
                return state.lastHandle
            })
    }

    /// Saves a session as another, unknown machine would.
    func put(_ session: SavedSession?, notifying: Bool = true) {
        state.withLock { state in
            state.session = session
            if notifying { for listener in state.listeners.values { listener.yield() } }
        }
    }

    /// Revokes the lease of the store that holds the lock.
    func revoke() {
        let next = state.withLock { state in
            state.holder?.lose("the lease was revoked")
            state.holder = nil
            return state.waiting.isEmpty ? nil : state.waiting.removeFirst()
        }
        next?.resume()
    }

    /// Fails every acquisition of the lock.
    func failAcquisition(with error: TokenPersistenceError?) {
        state.withLock { $0.acquisitionError = error }
    }

    struct Handle: TokenPersistence {
        let shared: SharedSession
        let number: Int

        func load() -> SavedSession? {
            shared.state.withLock { state in
                state.loads += 1
                return state.session
            }
        }

        func save(_ session: SavedSession?) {
            shared.state.withLock { change(&$0, to: session) }
        }

        func replace(_ version: SavedSession.Version, with session: SavedSession?) -> Bool {
            shared.state.withLock { state in
                guard state.session?.version == version else { return false }
                change(&state, to: session)
                return true
            }
        }

        func exclusively(_ body: @Sendable (SessionLock) async -> Void) async throws {
            let lock = SessionLock()
            while true {
                let hasLock = try shared.state.withLock { state in
                    if let error = state.acquisitionError { throw error }
                    if state.holder == nil { state.holder = lock }
                    return state.holder === lock
                }
                if hasLock { break }
                await withCheckedContinuation { continuation in
                    let isFree = shared.state.withLock { state in
                        if state.holder != nil { state.waiting.append(continuation) }
                        return state.holder == nil
                    }
                    if isFree { continuation.resume() }
                }
            }
            await body(lock)
            let next: CheckedContinuation<Void, Never>? = shared.state.withLock { state in
                guard state.holder === lock else { return nil }
                state.holder = nil
                return state.waiting.isEmpty ? nil : state.waiting.removeFirst()
            }
            next?.resume()
        }

        func changes() -> AsyncStream<Void>? {
            let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
            shared.state.withLock { $0.listeners[number] = continuation }
            continuation.onTermination = { [shared, number] _ in
                shared.state.withLock { _ = $0.listeners.removeValue(forKey: number) }
            }
            return stream
        }

        private func change(_ state: inout State, to session: SavedSession?) {
            state.session = session
            // The store that saves hears of its own change, too: that must do no harm.
            for listener in state.listeners.values { listener.yield() }
        }
    }
}
