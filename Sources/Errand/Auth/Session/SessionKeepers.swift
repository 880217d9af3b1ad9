#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// An object that keeps or runs what belongs to sessions, and has to end it when a session ends.
///
/// The methods must not block, and may be called more than once.
protocol SessionKeeper: AnyObject, Sendable {
    /// Removes what belongs to a session that has ended.
    func remove(session: UUID)
    /// Stops what runs in a session that has ended for that reason.
    func stop(session: UUID, because reason: ServiceError)
    /// Whether what it keeps outlives the process, so that it has to be removed by a process that has not used it.
    var outlivesProcess: Bool { get }
}

extension SessionKeeper {
    func remove(session: UUID) {}
    func stop(session: UUID, because reason: ServiceError) {}
    var outlivesProcess: Bool { false }
}

/// The objects that keep what belongs to the sessions of a store. They are not kept by it.
final class SessionKeepers: Sendable {
    private struct Member: Sendable {
        weak var keeper: (any SessionKeeper)?
    }

    private let members = Lock<[Member]>([])

    /// Adds a keeper, once.
    func add(_ keeper: any SessionKeeper) {
        members.withLock { members in
            members.removeAll { $0.keeper == nil || $0.keeper === keeper }
            members.append(Member(keeper: keeper))
        }
    }

    /// Whether anything that is kept outlives the process.
    var outliveProcess: Bool {
        members.withLock { $0.contains { $0.keeper?.outlivesProcess ?? false } }
    }

    /// Tells all keepers that the session has ended for that reason.
    func notify(endOf session: UUID, because reason: ServiceError) {
        let keepers = members.withLock { $0.compactMap(\.keeper) }
        // First, so that nothing that runs finds a part of the session removed.
        for keeper in keepers { keeper.stop(session: session, because: reason) }
        for keeper in keepers { keeper.remove(session: session) }
    }
}
