import Errand

extension SharedLimit {
    /// What others may read at any moment.
    struct Published {
        var record: LimitRecord?
        var problem: FleetProblem?
        var activity = LimitActivity()
        var terms: LimitTerms
        /// The limiter, and its number; `nil` before the first.
        var limiter: WeakLimiter?
        var number = 0
        /// What the limiter has left; `nil` while it is used.
        var rest: Rest?
        /// When the work ends at the latest because the program leaves the fleet, for all runs up to that one.
        var leaving: (run: Int, end: Instant)?
        var hasReturnedAll = false
        /// Whether calls wait, and nothing comes.
        var isStarving = false
        /// Whether the node owns permits, or needs some.
        var needsNode = false
    }

    /// What remains of a limiter.
    struct Rest {
        var permits: OwnedPermits
        var pausedUntil: Instant?
    }

    /// Whether a limiter is used, or is being released at this moment.
    nonisolated var isUsed: Bool { published.withLock { $0.number > 0 && $0.rest == nil } }

    /// Whether the last run has returned all permits.
    nonisolated var hasReturnedAll: Bool { published.withLock { $0.hasReturnedAll } }

    /// Whether calls wait, and nothing comes: the owners of the permits may be gone.
    nonisolated var isStarving: Bool { published.withLock { $0.isStarving } }

    /// Whether the node owns permits of the limit, or needs some.
    nonisolated var needsNode: Bool { published.withLock { $0.needsNode } }

    nonisolated var nodes: Nodes {
        published.withLock { published in
            guard let record = published.record else { return Nodes() }
            return Nodes(ids: record.nodes.map(\.id), lifetime: .nanoseconds(record.lifetime))
        }
    }

    nonisolated var snapshot: Fleet.LimitSnapshot {
        let now = time.now
        let standing = member.standing
        return published.withLock { published in
            Fleet.LimitSnapshot(
                name: name, key: key, record: published.record, node: standing.id, isValid: now < standing.end,
                isStarving: published.isStarving, activity: published.activity, at: now,
                problem: published.problem?.message)
        }
    }
}
