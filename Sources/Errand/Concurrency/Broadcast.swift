import Synchronization

/// Sends each element to all current listeners. Without listeners it costs one atomic read.
final class Broadcast<Element: Sendable>: Sendable {
    private struct State {
        var listeners: [UInt64: AsyncStream<Element>.Continuation] = [:]
        var nextSeat: UInt64 = 0
        var isFinished = false
    }

    private let state = Lock(State())
    private let listening = Atomic(0)

    /// Whether there are listeners: an element that nobody receives need not be created.
    var hasListeners: Bool { listening.load(ordering: .relaxed) > 0 }

    /// Returns a stream for a new listener. It begins with `first`; while the listener is slow, it buffers what
    /// `policy` allows.
    func stream(
        first: Element? = nil, keeping policy: AsyncStream<Element>.Continuation.BufferingPolicy
    ) -> AsyncStream<Element> {
        let (stream, continuation) = AsyncStream.makeStream(of: Element.self, bufferingPolicy: policy)
        let seat: UInt64? = state.withLock { state in
            guard !state.isFinished else { return nil }
            state.nextSeat += 1
            state.listeners[state.nextSeat] = continuation
            listening.store(state.listeners.count, ordering: .relaxed)
            if let first { continuation.yield(first) }
            return state.nextSeat
        }
        guard let seat else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in self?.leave(seat) }
        return stream
    }

    func send(_ element: Element) {
        guard hasListeners else { return }
        // Yielding takes no lock that a listener holds while it runs, so yielding under this lock keeps the order of
        // elements.
        state.withLock { state in
            for listener in state.listeners.values { listener.yield(element) }
        }
    }

    /// Finishes every stream; later listeners receive an empty one.
    func finish() {
        let listeners = state.withLock { state in
            state.isFinished = true
            return state.listeners
        }
        for listener in listeners.values { listener.finish() }
    }

    private func leave(_ seat: UInt64) {
        state.withLock { state in
            state.listeners.removeValue(forKey: seat)
            listening.store(state.listeners.count, ordering: .relaxed)
        }
    }
}
