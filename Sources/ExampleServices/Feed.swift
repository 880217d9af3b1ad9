import Errand

/// Sends each element to all listeners, in the same order to each.
final class Feed<Element: Sendable>: Sendable {
    private struct Listener {
        let receive: @Sendable (Element) -> Void
        let finish: @Sendable () -> Void
    }

    private struct State {
        var listeners: [Int: Listener] = [:]
        var lastID = 0
        var latest: Element?
        var isFinished = false
    }

    private let state: Lock<State>
    private let keepsLatest: Bool

    /// Creates a feed. If there is a `first` element, a new listener begins with the latest one.
    init(_ first: Element? = nil) {
        state = Lock(State(latest: first))
        keepsLatest = first != nil
    }

    /// Returns a stream for a new listener: what `pick` returns for each element from now on.
    func stream<Output: Sendable>(
        keeping policy: AsyncStream<Output>.Continuation.BufferingPolicy,
        _ pick: @escaping @Sendable (Element) -> Output?
    ) -> AsyncStream<Output> {
        let (stream, continuation) = AsyncStream.makeStream(of: Output.self, bufferingPolicy: policy)
        let listener = Listener {
            if let output = pick($0) { continuation.yield(output) }
        } finish: {
            continuation.finish()
        }
        let id: Int? = state.withLock { state in
            if let latest = state.latest { listener.receive(latest) }
            guard !state.isFinished else { return nil }
            state.lastID += 1
            state.listeners[state.lastID] = listener
            return state.lastID
        }
        guard let id else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            // Released after the lock: the listener holds the continuation, whose end must not come under the lock.
            _ = self?.state.withLock { $0.listeners.removeValue(forKey: id) }
        }
        return stream
    }

    /// Sends an element to all listeners.
    func send(_ element: Element) {
        // Under the lock, so that all listeners receive the elements in one order. A stream runs no code of its
        // listener when it receives an element.
        state.withLock { state in
            guard !state.isFinished else { return }
            if keepsLatest { state.latest = element }
            for listener in state.listeners.values { listener.receive(element) }
        }
    }

    /// Ends all streams; later elements are ignored.
    func finish() {
        let listeners = state.withLock { state in
            state.isFinished = true
            defer { state.listeners = [:] }
            return Array(state.listeners.values)
        }
        for listener in listeners { listener.finish() }
    }

    deinit { finish() }
}

extension Feed {
    /// Returns a stream of the elements for a new listener.
    func stream(keeping policy: AsyncStream<Element>.Continuation.BufferingPolicy) -> AsyncStream<Element> {
        stream(keeping: policy) { $0 }
    }
}
