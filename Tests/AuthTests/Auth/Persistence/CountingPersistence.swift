import Errand

/// A persistence in memory that counts its calls, and can be made to fail.
final class CountingPersistence: TokenPersistence {
    private struct State {
        var session: SavedSession?
        var loads = 0
        var saves: [String?] = []
        var saveError: (any Error)?
        var loadError: (any Error)?
    }

    private let state = Lock(State())

    var loads: Int { state.withLock { $0.loads } }
    /// The access tokens that were saved, in order; `nil` for a removal.
    var saves: [String?] { state.withLock { $0.saves } }

    func put(_ session: SavedSession?) { state.withLock { $0.session = session } }
    func failSaves(with error: (any Error)?) { state.withLock { $0.saveError = error } }
    func failLoads(with error: (any Error)?) { state.withLock { $0.loadError = error } }

    func load() throws -> SavedSession? {
        try state.withLock { state in
            state.loads += 1
            if let error = state.loadError { throw error }
            return state.session
        }
    }

    func save(_ session: SavedSession?) throws {
        try state.withLock { state in
            if let error = state.saveError { throw error }
            state.session = session
            state.saves.append(session?.token.accessToken)
        }
    }
}
