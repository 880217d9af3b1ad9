import Errand

/// What others tell a node.
extension Member {
    /// Notes that the store has failed.
    nonisolated func note(_ error: FleetStoreError, in part: StoreTroubles.Part) {
        guard error.kind != .cancelled else { return }
        let isNew = published.withLock { $0.troubles.fail(part, error) }
        if isNew { events.send(.storeFailed(error)) }
    }

    /// Notes that the store has responded.
    nonisolated func noteContact() {
        let now = time.now
        published.withLock { $0.lastContact = now }
    }

    /// Notes that the store has done what was asked of it, or that nothing is asked of it any more.
    nonisolated func noteSuccess(in part: StoreTroubles.Part) {
        let isOver = published.withLock { $0.troubles.succeed(part) }
        if isOver { events.send(.storeRecovered) }
    }

    /// Gives this node a record, which it has to have before it may own anything.
    nonisolated func live() { published.withLock { $0.needs }.signal() }

    /// Notes that calls of a limit get nothing, and looks at the other nodes now.
    nonisolated func noteStarving(_ limit: String) {
        events.send(.starving(limit: limit))
        published.withLock { $0.looks }.signal()
    }

    /// Asks the store once, when it has responded, what an operator should know about it.
    func warn() async {
        let isDue = published.withLock { published in
            guard published.lastContact != nil, published.warnings == nil else { return false }
            published.warnings = []
            return true
        }
        guard isDue else { return }
        let warnings = await store.warnings()
        published.withLock { $0.warnings = warnings }
        for warning in warnings { events.send(.storeWarning(warning)) }
    }
}
