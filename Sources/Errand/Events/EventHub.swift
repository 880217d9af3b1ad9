import Synchronization

/// The receivers of a client's events: the listeners of its streams, and its observer.
///
/// To wake a listener costs more than a call's own work, and a call has several events. So events wait for a few
/// milliseconds, and listeners receive them together. The observer, which is called in the task of the call, receives
/// each at once.
final class EventHub: Sendable {
    private struct State {
        var listeners: [UInt64: EventListener] = [:]
        var lastSeat: UInt64 = 0
        var waiting: [ClientEvent] = []
        var isDue = false
        var isFinished = false
    }

    /// How long an event may wait, in real time: too short for a person to notice.
    private static let patience = Duration.milliseconds(5)

    private let observer: (@Sendable (ClientEvent) -> Void)?
    private let state = Lock(State())
    private let listening = Atomic(0)

    init(observer: (@Sendable (ClientEvent) -> Void)? = nil) {
        self.observer = observer
    }

    /// Whether the events have receivers: an event that nobody receives need not be created.
    var hasListeners: Bool { observer != nil || listening.load(ordering: .relaxed) > 0 }

    /// Returns a stream of the events from now on.
    var stream: AsyncStream<ClientEvent> {
        let (listener, seat) = state.withLock { state in
            passOn(&state)
            state.lastSeat += 1
            let seat = state.lastSeat
            let listener = EventListener()
            if state.isFinished { listener.finish() } else { state.listeners[seat] = listener }
            listening.store(state.listeners.count, ordering: .relaxed)
            return (listener, seat)
        }
        let reader = EventReader(of: listener) { [weak self] in self?.leave(seat) }
        return AsyncStream { await reader.listener.next() }
    }

    func send(_ event: ClientEvent) {
        observer?(event)
        guard listening.load(ordering: .relaxed) > 0 else { return }
        let needsAlarm = state.withLock { state in
            state.waiting.append(event)
            defer { state.isDue = true }
            return !state.isDue
        }
        guard needsAlarm else { return }
        let time = SystemTime.shared
        _ = time.schedule(at: time.now.advanced(by: Self.patience), for: .watch) { [weak self] in
            self?.state.withLock { state in
                state.isDue = false
                self?.passOn(&state)
            }
        }
    }

    func finish() {
        state.withLock { state in
            passOn(&state)
            state.isFinished = true
            for listener in state.listeners.values { listener.finish() }
        }
    }

    /// Passes the waiting events on, under the lock: so they stay in order.
    private func passOn(_ state: inout State) {
        guard !state.waiting.isEmpty else { return }
        for listener in state.listeners.values { listener.receive(state.waiting) }
        state.waiting = []
    }

    private func leave(_ seat: UInt64) {
        state.withLock { state in
            state.listeners.removeValue(forKey: seat)
            listening.store(state.listeners.count, ordering: .relaxed)
        }
    }
}
