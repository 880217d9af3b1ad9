/// A moment that many tasks wait for. Each can leave without disturbing the others.
///
/// It opens once, and then stays open.
///
/// States of a waiter: not registered (a stop that comes this early is checked under the lock, at registration),
/// waiting (its continuation is in the list), gone (the code that removes a continuation from the list resumes it). So
/// each is resumed exactly once, which needs no check at run time.
final class Latch: Sendable {
    private typealias Continuation = UnsafeContinuation<Void, Never>

    /// Those who wait. Most latches have one waiter, who needs no table.
    private struct Waiters {
        private var first: (id: UInt64, continuation: Continuation)?
        private var others: [UInt64: Continuation] = [:]

        var count: Int { (first == nil ? 0 : 1) + others.count }

        mutating func add(_ continuation: Continuation, at id: UInt64) {
            if count == 0 { first = (id, continuation) } else { others[id] = continuation }
        }

        mutating func remove(at id: UInt64) -> Continuation? {
            guard let first, first.id == id else { return others.removeValue(forKey: id) }
            self.first = nil
            return first.continuation
        }

        /// Resumes all, in order of arrival: the first waiters continue first.
        func resume() {
            first?.continuation.resume()
            guard !others.isEmpty else { return }
            for (_, continuation) in others.sorted(by: { $0.key < $1.key }) { continuation.resume() }
        }
    }

    private struct State {
        var isOpen = false
        var waiters = Waiters()
        var lastID: UInt64 = 0

        /// Adds a waiter. Returns `false` if there is nothing to wait for.
        mutating func add(_ continuation: Continuation, at id: UInt64) -> Bool {
            if !isOpen { waiters.add(continuation, at: id) }
            return !isOpen
        }

        mutating func nextID() -> UInt64 {
            lastID += 1
            return lastID
        }
    }

    private let state = Lock(State())

    /// Whether the latch is open.
    var isOpen: Bool { state.withLock { $0.isOpen } }

    /// The number of waiters.
    var waiting: Int { state.withLock { $0.waiters.count } }

    /// Opens the latch and resumes all waiters. Returns their number; `nil` if it is open already.
    @discardableResult
    func open() -> Int? {
        let waiters: Waiters? = state.withLock { state in
            guard !state.isOpen else { return nil }
            state.isOpen = true
            defer { state.waiters = Waiters() }
            return state.waiters
        }
        waiters?.resume()
        return waiters?.count
    }

    /// Waits until the latch is open, even if the task is canceled.
    func opened() async {
        if isOpen { return }
        await withUnsafeContinuation { (continuation: Continuation) in
            let waits = state.withLock { $0.add(continuation, at: $0.nextID()) }
            if !waits { continuation.resume() }
        }
    }

    /// Waits until the latch is open. Throws `.cancelled` if the task is canceled or the scope is stopped before.
    @_semantics("optimize.sil.specialize.generic.never")
    func opened<Failure>(in scope: StopScope<Failure>) async throws(Failure) {
        if isOpen { return }
        let id = state.withLock { $0.nextID() }
        await scope.wait {
            await withUnsafeContinuation { (continuation: Continuation) in
                // Checked here, under the lock: a handler that ran before this found no continuation to resume.
                let waits = state.withLock { !scope.isStopped && $0.add(continuation, at: id) }
                if !waits { continuation.resume() }
            }
        } onStop: {
            self.state.withLock { $0.waiters.remove(at: id) }?.resume()
        }
        if !isOpen { throw .cancelled }
    }
}
