#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// An object that keeps or runs what belongs to sessions, and has to end it when a session ends.
///
/// The methods must not block, and may be called more than once.
protocol SessionKeeper: AnyObject, Sendable {
    /// Removes what belongs to a session that has ended: from now on, nothing of it is used. Returns what completes
    /// when the keeper has tried to remove it from the disk, too; `nil` if nothing is left to do.
    func remove(session: UUID) -> Latch?
    /// Stops what runs in a session that has ended for that reason.
    func stop(session: UUID, because reason: ServiceError)
    /// Whether what it keeps outlives the process, so that it has to be removed by a process that has not used it.
    var outlivesProcess: Bool { get }
}

extension SessionKeeper {
    func remove(session: UUID) -> Latch? { nil }
    func stop(session: UUID, because reason: ServiceError) {}
    var outlivesProcess: Bool { false }
}

/// The objects that keep what belongs to the sessions of a store. They are not kept by it.
final class SessionKeepers: Sendable {
    private struct Member: Sendable {
        weak var keeper: (any SessionKeeper)?
    }

    private struct State: Sendable {
        var members: [Member] = []
        /// The removals that may be under way. Unlike its keeper, a removal is kept: the keeper may be released before.
        var removals: [Latch] = []
    }

    private let state = Lock(State())

    /// Adds a keeper, once.
    func add(_ keeper: any SessionKeeper) {
        state.withLock { state in
            state.members.removeAll { $0.keeper == nil || $0.keeper === keeper }
            state.members.append(Member(keeper: keeper))
        }
    }

    /// Whether anything that is kept outlives the process.
    var outliveProcess: Bool {
        state.withLock { $0.members.contains { $0.keeper?.outlivesProcess ?? false } }
    }

    /// Tells all keepers that the session has ended for that reason.
    func notify(endOf session: UUID, because reason: ServiceError) {
        let keepers = state.withLock { $0.members.compactMap(\.keeper) }
        // First, so that nothing that runs finds a part of the session removed.
        for keeper in keepers { keeper.stop(session: session, because: reason) }
        let removals = keepers.compactMap { $0.remove(session: session) }
        state.withLock { state in
            state.removals.removeAll(where: \.isOpen)
            state.removals += removals
        }
    }

    /// Waits until the keepers have removed what belongs to sessions that have ended, but no longer than that, because
    /// a disk may hang. It also waits in a canceled task.
    func waitUntilRemoved(within limit: Duration, by time: any TimeSource) async {
        let pending = state.withLock { $0.removals.filter { !$0.isOpen } }
        guard !pending.isEmpty else { return }
        let end = time.now.advanced(by: limit)
        // The removals continue; only the waits for them end.
        let alarm = time.schedule(at: end, for: .watch("the limit of a wait for removals")) {
            for removal in pending { removal.open() }
        }
        for removal in pending { await removal.opened() }
        alarm.cancel()
    }
}
