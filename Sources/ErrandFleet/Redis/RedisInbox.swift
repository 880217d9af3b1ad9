import Errand

/// What tasks hand over to the thread of a store.
///
/// States: no thread, a thread that runs, closed. The first event starts a thread, which has a pipe to be woken with.
/// It ends when it has nothing to do, or when the inbox is closed: under the lock, so that no event is lost in between.
final class RedisInbox: Sendable {
    enum Event: Sendable {
        case request(RedisRequest)
        case begin(RedisWatch)
        case end(RedisWatch)
    }

    private struct State {
        var events: [Event] = []
        /// Wakes the thread; `nil` without one.
        var wakeUp: WakeUpPipe?
        var isClosed = false
    }

    private let state = Lock(State())

    /// Whether the thread has to end.
    var isClosed: Bool { state.withLock { $0.isClosed } }

    /// Whether there is a thread.
    var isRunning: Bool { state.withLock { $0.wakeUp != nil } }

    /// Hands over an event. Starts `run` on a thread if there is none.
    func post(
        _ event: Event, _ run: @escaping @Sendable (WakeUpPipe) -> Void
    ) throws(FleetStoreError) {
        let woken = try state.withLock { state throws(FleetStoreError) -> WakeUpPipe? in
            if let wakeUp = state.wakeUp {
                state.events.append(event)
                return state.events.count == 1 ? wakeUp : nil
            }
            guard let wakeUp = WakeUpPipe(), SystemThread.start({ run(wakeUp) }) else {
                throw FleetStoreError(
                    .unreachable, "the system has no descriptor or no thread left to reach Redis with")
            }
            state.wakeUp = wakeUp
            state.events.append(event)
            return nil
        }
        woken?.raise()
    }

    /// Hands over the end of a watch, if there is a thread.
    func postEnd(of watch: RedisWatch) {
        let woken: WakeUpPipe? = state.withLock { state in
            guard let wakeUp = state.wakeUp else { return nil }
            state.events.append(.end(watch))
            return state.events.count == 1 ? wakeUp : nil
        }
        woken?.raise()
    }

    /// Returns what was handed over; `nil` if the thread has to end, or may and has nothing to do.
    func take(mayEnd: Bool) -> [Event]? {
        state.withLock { state in
            guard !state.isClosed, !mayEnd || !state.events.isEmpty else {
                (state.wakeUp, state.events) = (nil, [])
                return nil
            }
            defer { state.events = [] }
            return state.events
        }
    }

    /// Ends the thread.
    func close() {
        let woken: WakeUpPipe? = state.withLock { state in
            state.isClosed = true
            return state.wakeUp
        }
        woken?.raise()
    }
}
