import Synchronization

/// The running calls of a client, and whether new ones may begin.
///
/// Behind a lock and not on the client's actor, because calls begin and end without a wait.
final class CallsInFlight: Sendable {
    private struct State {
        var calls: [Int: Call] = [:]
        var isClosed = false
        var drained: Flight<Void, Never>?
    }

    private let state = Lock(State())
    private let counts = Broadcast<Int>()
    private let lastID = Atomic(0)

    /// The number of running calls, now and whenever it changes.
    var activity: AsyncStream<Int> {
        state.withLock { counts.stream(first: $0.calls.count, keeping: .bufferingNewest(1)) }
    }

    /// Returns the number of the next call.
    func nextID() -> Int {
        lastID.wrappingAdd(1, ordering: .relaxed).newValue
    }

    func begin(_ call: Call) throws(ServiceError) {
        let isOpen = state.withLock { state in
            guard !state.isClosed else { return false }
            state.calls[call.id] = call
            counts.send(state.calls.count)
            return true
        }
        guard isOpen else {
            throw .invalidRequest(InvalidRequest(.clientShutDown, "the client has been shut down"))
        }
    }

    /// Ends the call and sends the event, unless the call has ended already.
    func end(_ call: Call, telling event: @autoclosure () -> ClientEvent.Kind) {
        let isFirst = call.exchange { state in
            defer { state.isOver = true }
            return !state.isOver
        }
        guard isFirst else { return }
        call.tell(event())
        let drained = state.withLock { state in
            state.calls[call.id] = nil
            counts.send(state.calls.count)
            return state.calls.isEmpty ? state.drained : nil
        }
        drained?.land(.success(()))
    }

    /// Cancels all calls except those that a token refresh has made: a refresh belongs to a token store and not to a
    /// caller, and a token that the server has already replaced would be lost.
    func cancelAll() {
        for call in state.withLock({ Array($0.calls.values) }) where !call.isRefreshCall { call.stop(.cancelled) }
    }

    /// Prevents new calls, stops running ones, and waits until the last has ended.
    func close() async {
        let drained = state.withLock { state in
            state.isClosed = true
            let drained = state.drained ?? Flight<Void, Never>()
            state.drained = drained
            if state.calls.isEmpty { drained.land(.success(())) }
            return drained
        }
        for call in state.withLock({ Array($0.calls.values) }) { call.stop(.cancelled) }
        await drained.landed()
        counts.finish()
    }

    deinit { counts.finish() }
}
