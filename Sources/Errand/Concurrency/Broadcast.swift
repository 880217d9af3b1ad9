import Synchronization

/// Sends each element to all who listen at that moment; costs one lock when nobody does.
final class Broadcast<Element: Sendable>: Sendable {
    private struct State {
        var listeners: [UInt64: AsyncStream<Element>.Continuation] = [:]
        var nextSeat: UInt64 = 0
        var isFinished = false
    }

    private let state = Lock(State())
    private let listening = Atomic(0)

    /// Whether anybody listens: an element that nobody would get need not be made.
    var hasListeners: Bool { listening.load(ordering: .relaxed) > 0 }

    /// A new listener's stream, which begins with `first` and keeps at most what `policy` says while the listener is
    /// slow.
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
        // Yielding takes no lock that a listener holds while it runs, so the order of elements can be kept by
        // yielding under ours.
        state.withLock { state in
            for listener in state.listeners.values { listener.yield(element) }
        }
    }

    /// Ends every stream; later listeners get an empty one.
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
