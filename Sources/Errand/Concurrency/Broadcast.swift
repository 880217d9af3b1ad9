import Synchronization

/// Sends each element to all current listeners. Without listeners it costs one atomic read.
///
/// A listener has a queue of its own. Several tasks may read it, and each element goes to one of them: an `AsyncStream`
/// with a continuation would end the program.
///
/// Its streams end with it.
///
/// Tasks are resumed where no lock is held. Swift locks a task while it resumes it, and while it runs its cancellation
/// handlers: a handler that needs a lock would deadlock with a thread that resumes its task while holding that lock.
package final class Broadcast<Element: Sendable>: Sendable {
    private struct State {
        var listeners: [Int: Listener<Element>] = [:]
        var lastNumber = 0
        var latest: Element?
        var isFinished = false
    }

    private let state: Lock<State>
    private let keepsLatest: Bool
    private let listening = Atomic(0)

    /// Creates a broadcast. If there is a `first` element, a new listener begins with the latest one.
    package init(_ first: Element? = nil) {
        state = Lock(State(latest: first))
        keepsLatest = first != nil
    }

    /// Whether there are listeners: an element that no listener receives need not be created.
    package var hasListeners: Bool { listening.load(ordering: .relaxed) > 0 }

    /// Returns a stream for a new listener. It begins with `first`; a listener that is slow misses the oldest elements
    /// beyond `capacity`.
    package func stream(first: Element? = nil, capacity: Int = .max) -> AsyncStream<Element> {
        let listener = Listener<Element>(capacity: capacity)
        let number = state.withLock { state in
            state.lastNumber += 1
            // Nobody waits for it yet.
            if let first = state.isFinished ? state.latest : first ?? state.latest {
                _ = listener.receive(CollectionOfOne(first))
            }
            if state.isFinished {
                _ = listener.finish()
            } else {
                state.listeners[state.lastNumber] = listener
                listening.store(state.listeners.count, ordering: .relaxed)
            }
            return state.lastNumber
        }
        let reader = Reader(listener) { [weak self] in self?.remove(number) }
        return AsyncStream { await reader.listener.next() }
    }

    package func send(_ element: Element) {
        queue(CollectionOfOne(element)).resume()
    }

    /// Queues elements for each listener, and returns the tasks that have waited for one. Resume them where no lock is
    /// held.
    package func queue(_ elements: some BidirectionalCollection<Element>) -> WaitingTasks {
        guard let last = elements.last, keepsLatest || hasListeners else { return WaitingTasks() }
        // Under the lock, so that all listeners receive them in the same order.
        return state.withLock { state in
            guard !state.isFinished else { return WaitingTasks() }
            if keepsLatest { state.latest = last }
            var waiting = WaitingTasks()
            for listener in state.listeners.values { waiting.add(listener.receive(elements)) }
            return waiting
        }
    }

    /// Finishes every stream. Later listeners receive the latest element, if the broadcast keeps it, and nothing more.
    package func finish() {
        let waiting = state.withLock { state in
            state.isFinished = true
            var waiting = WaitingTasks()
            for listener in state.listeners.values { waiting.add(listener.finish()) }
            return waiting
        }
        waiting.resume()
    }

    deinit { finish() }

    private func remove(_ number: Int) {
        state.withLock { state in
            state.listeners[number] = nil
            listening.store(state.listeners.count, ordering: .relaxed)
        }
    }
}

/// Tasks that can go on.
package struct WaitingTasks: Sendable {
    private var continuations: [CheckedContinuation<Void, Never>] = []

    fileprivate mutating func add(_ continuation: CheckedContinuation<Void, Never>) {
        continuations.append(continuation)
    }

    fileprivate mutating func add(_ others: WaitingTasks) {
        if !others.continuations.isEmpty { continuations += others.continuations }
    }

    package func resume() {
        for continuation in continuations { continuation.resume() }
    }
}

/// The elements that a listener has not read yet, and the tasks that wait for more.
///
/// Each change wakes all waiters, which look again. Usually there is one.
private final class Listener<Element: Sendable>: Sendable {
    private struct State {
        var unread: ArraySlice<Element> = []
        var waiting = WaitingTasks()
        var isFinished = false
    }

    private let capacity: Int
    private let state = Lock(State())

    init(capacity: Int) {
        self.capacity = capacity
    }

    func receive(_ elements: some Collection<Element>) -> WaitingTasks {
        change { state in
            state.unread.append(contentsOf: elements)
            if state.unread.count > capacity { state.unread.removeFirst(state.unread.count - capacity) }
        }
    }

    func finish() -> WaitingTasks {
        change { $0.isFinished = true }
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
                    state.waiting.add(continuation)
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            change { _ in }.resume()
        }
    }

    /// Makes a change, and returns the tasks that have to look again.
    private func change(_ change: (inout State) -> Void) -> WaitingTasks {
        state.withLock { state in
            change(&state)
            defer { state.waiting = WaitingTasks() }
            return state.waiting
        }
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
