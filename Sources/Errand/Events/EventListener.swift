/// The events that a listener has not read yet, and the tasks that wait for more.
///
/// Whatever happens wakes all waiters, which look again. Usually there is one.
final class EventListener: Sendable {
    private struct State {
        var unread: ArraySlice<ClientEvent> = []
        var waiters: [CheckedContinuation<Void, Never>] = []
        var isFinished = false
    }

    /// How many events a slow listener can fall behind before it misses the oldest.
    private static let capacity = 10_000

    private let state = Lock(State())

    func receive(_ events: [ClientEvent]) {
        wake { state in
            state.unread = state.unread.isEmpty ? events[...] : state.unread + events
            state.unread = state.unread.suffix(Self.capacity)
        }
    }

    func finish() {
        wake { $0.isFinished = true }
    }

    /// Returns the next event; `nil` at the end, or when the task is cancelled.
    func next() async -> ClientEvent? {
        while true {
            let (event, isOver) = state.withLock { ($0.unread.popFirst(), $0.isFinished) }
            if event != nil || isOver || Task.isCancelled { return event }
            await wait()
        }
    }

    private func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                let isOver = state.withLock { state in
                    // Checked under the lock: a cancellation that came before this found nobody to wake.
                    guard state.unread.isEmpty, !state.isFinished, !Task.isCancelled else { return true }
                    state.waiters.append(continuation)
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            wake { _ in }
        }
    }

    /// Makes a change, and wakes all waiters.
    private func wake(_ change: (inout State) -> Void) {
        let waiters = state.withLock { state in
            change(&state)
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }
}

/// The reader of a listener's stream. When it is released, nobody needs the events.
final class EventReader: Sendable {
    let listener: EventListener
    private let leave: @Sendable () -> Void

    init(of listener: EventListener, leaving leave: @escaping @Sendable () -> Void) {
        self.listener = listener
        self.leave = leave
    }

    deinit {
        leave()
    }
}
