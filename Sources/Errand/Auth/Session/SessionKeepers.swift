#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// An object that keeps what belongs to sessions, and has to remove it when a session ends.
protocol SessionKeeper: AnyObject, Sendable {
    /// Removes what belongs to a session that has ended. It must not block, and may be called more than once.
    func remove(session: UUID)
    /// Whether what it keeps outlives the process, so that it has to be removed by a process that has not used it.
    var outlivesProcess: Bool { get }
}

extension SessionKeeper {
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

    /// Tells all keepers that the session has ended.
    func notify(endOf session: UUID) {
        for keeper in members.withLock({ $0.compactMap(\.keeper) }) { keeper.remove(session: session) }
    }
}
