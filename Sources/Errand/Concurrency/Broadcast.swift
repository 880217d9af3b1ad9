import Synchronization

/// Sends each element to all current listeners. Without listeners it costs one atomic read.
///
/// A listener has a queue of its own. Several tasks may read it, and each element goes to one of them: an `AsyncStream`
/// with a continuation would end the program.
package final class Broadcast<Element: Sendable>: Sendable {
    private struct State {
        var listeners: [Int: Listener<Element>] = [:]
        var lastNumber = 0
        var isFinished = false
    }

    private let state = Lock(State())
    private let listening = Atomic(0)

    package init() {}

    /// Whether there are listeners: an element that no listener receives need not be created.
    var hasListeners: Bool { listening.load(ordering: .relaxed) > 0 }

    /// Returns a stream for a new listener. It begins with `first`; a listener that is slow misses the oldest elements
    /// beyond `capacity`.
    package func stream(first: Element? = nil, capacity: Int = .max) -> AsyncStream<Element> {
        let listener = Listener<Element>(capacity: capacity)
        let number = state.withLock { state in
            state.lastNumber += 1
            if state.isFinished {
                listener.finish()
            } else {
                if let first { listener.receive(CollectionOfOne(first)) }
                state.listeners[state.lastNumber] = listener
                listening.store(state.listeners.count, ordering: .relaxed)
            }
            return state.lastNumber
        }
        let reader = Reader(listener) { [weak self] in self?.remove(number) }
        return AsyncStream { await reader.listener.next() }
    }

    package func send(_ element: Element) {
        guard hasListeners else { return }
        send(contentsOf: CollectionOfOne(element))
    }

    /// Sends several elements together, which wakes each listener once.
    func send(contentsOf elements: some Collection<Element>) {
        // Under the lock, so that all listeners receive them in the same order.
        state.withLock { state in
            for listener in state.listeners.values { listener.receive(elements) }
        }
    }

    /// Finishes every stream; later listeners receive an empty one.
    package func finish() {
        state.withLock { state in
            state.isFinished = true
            for listener in state.listeners.values { listener.finish() }
        }
    }

    private func remove(_ number: Int) {
        state.withLock { state in
            state.listeners[number] = nil
            listening.store(state.listeners.count, ordering: .relaxed)
        }
    }
}

/// The elements that a listener has not read yet, and the tasks that wait for more.
///
/// Each change wakes all waiters, which look again. Usually there is one.
private final class Listener<Element: Sendable>: Sendable {
    private struct State {
        var unread: ArraySlice<Element> = []
        var waiters: [CheckedContinuation<Void, Never>] = []
        var isFinished = false
    }

    private let capacity: Int
    private let state = Lock(State())

    init(capacity: Int) {
        self.capacity = capacity
    }

    func receive(_ elements: some Collection<Element>) {
        wake { state in
            state.unread.append(contentsOf: elements)
            if state.unread.count > capacity { state.unread.removeFirst(state.unread.count - capacity) }
        }
    }

    func finish() {
        wake { $0.isFinished = true }
    }

    /// Returns the next element; `nil` at the end, or when the task is canceled.
    func next() async -> Element? {
        while true {
            let (element, isFinished) = state.withLock { ($0.unread.popFirst(), $0.isFinished) }
            if element != nil || isFinished || Task.isCancelled { return element }
            await wait()
        }
    }

    private func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                let isOver = state.withLock { state in
                    // Checked under the lock: an earlier cancellation has found no waiter.
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

/// The stream's hold on its listener. When the stream is released, the listener leaves.
private final class Reader<Element: Sendable>: Sendable {
    let listener: Listener<Element>
    private let leave: @Sendable () -> Void

    init(_ listener: Listener<Element>, leave: @escaping @Sendable () -> Void) {
        self.listener = listener
        self.leave = leave
    }

    deinit {
        leave()
    }
}
