#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Notifies those who keep something of one session that it has ended.
final class SessionWatchers: Sendable {
    typealias Ended = @Sendable (ServiceError) -> Void

    private struct State {
        var watchers: [Int: (session: UUID, ended: Ended)] = [:]
        var lastNumber = 0
    }

    private let state = Lock(State())

    /// Adds a watcher of that session.
    func add(_ session: UUID, _ ended: @escaping Ended) -> SessionWatch {
        SessionWatch(
            watchers: self,
            number: state.withLock { state in
                state.lastNumber += 1
                state.watchers[state.lastNumber] = (session, ended)
                return state.lastNumber
            })
    }

    fileprivate func remove(_ number: Int) {
        // Released outside the lock, because it may be the last to hold a call.
        var removed: (session: UUID, ended: Ended)?
        state.withLock { removed = $0.watchers.removeValue(forKey: number) }
        withExtendedLifetime(removed) {}
    }

    /// Notifies the watchers of all sessions but the present one why theirs has ended.
    func notify(except present: UUID?, _ reason: (UUID) -> ServiceError) {
        let others = state.withLock { $0.watchers.values.filter { $0.session != present } }
        for watcher in others { watcher.ended(reason(watcher.session)) }
    }
}

/// A watch that lasts until it is canceled.
struct SessionWatch: Sendable {
    fileprivate let watchers: SessionWatchers
    fileprivate let number: Int

    func cancel() {
        watchers.remove(number)
    }
}
