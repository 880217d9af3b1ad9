/// An error type with a case for a canceled task.
package protocol CancellationFailure: Error {
    static var cancelled: Self { get }
}

/// Runs one operation that others can stop, each with its own reason.
///
/// An operation that cannot observe a stop runs in a child task, with `runInChild`: a stop cancels the child and waits
/// for its end. An operation that observes stops runs in the caller's own task, with `run`, at a third of the cost.
/// Either way the reason of the stop becomes the error, and no part of the operation continues after the end. A value
/// that was ready before the stop took effect is kept.
///
/// Call/Stopping.swift says what stops what.
///
/// States: not begun, running (the caller may be waiting for a child, or observing stops itself), stopped, over. The
/// first stop counts; a stop after the end does nothing.
package struct StopScope<Failure: CancellationFailure>: Sendable {
    private let listeners = StopListeners()

    package init() {}

    /// The reason of the stop; `nil` if the scope has not been stopped.
    var reason: Failure? {
        // Not inlined: functions that wait ask for it, and their frames would be larger.
        @inline(never) get {
            // A cast of `nil` takes as long as one of a reason.
            guard let reason = listeners.reason else { return nil }
            return reason as? Failure
        }
    }

    /// Whether the operation has to end: the scope is stopped, or the current task is canceled.
    package var isStopped: Bool { Task.isCancelled || listeners.reason != nil }

    /// Stops the operation, or prevents it from starting.
    func stop(_ reason: Failure) {
        listeners.stop(reason)
    }

    /// Returns whether both values are the same scope.
    static func === (left: StopScope, right: StopScope) -> Bool { left.listeners === right.listeners }

    /// Runs the operation in the caller's own task. Each of its waits must use `wait` or `runInChild`.
    func run<Value: Sendable>(
        _ operation: (StopScope) async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        if let reason { throw reason }
        do throws(Failure) {
            return try await operation(self)
        } catch {
            throw reason ?? error
        }
    }

    /// Runs the operation in a scope of its own, which is stopped along with this one.
    func run<Value: Sendable>(
        in inner: StopScope, _ operation: (StopScope) async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let id = listeners.add(.scope(inner.listeners))
        defer { listeners.remove(id) }
        return try await inner.run(operation)
    }

    /// Calls `onStop` when the scope is stopped, or at once if it already is. Returns the number of the listener.
    func listen(_ onStop: @escaping @Sendable () -> Void) -> Int {
        listeners.add(.closure(onStop))
    }

    /// Removes the listener with that number.
    func removeListener(_ id: Int) {
        listeners.remove(id)
    }

    /// Waits in the caller's own task, and calls `onStop` if the scope is stopped or the task is canceled during the
    /// wait.
    ///
    /// `onStop` has to end the wait. It may be called twice, and after the wait is over.
    package func wait<Value: Sendable>(
        during wait: () async -> Value, onStop: @escaping @Sendable () -> Void
    ) async -> Value {
        await withTaskCancellationHandler {
            let id = listeners.add(.closure(onStop))
            defer { listeners.remove(id) }
            return await wait()
        } onCancel: {
            onStop()
        }
    }

    /// Runs the operation in a child task.
    package func runInChild<Value: Sendable>(
        _ operation: @escaping @Sendable () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        if let reason { throw reason }
        let slot = Slot<Result<Value, Failure>>()
        let over = Latch()
        let id = listeners.add(.closure { over.open() })
        defer { listeners.remove(id) }
        // A group that keeps no results costs a third less, and the slot holds the only result.
        await withDiscardingTaskGroup { group in
            group.startTask {
                do throws(Failure) {
                    slot.put(.success(try await operation()))
                } catch {
                    slot.put(.failure(error))
                }
                over.open()
            }
            // A cancellation of the caller reaches the child by itself. This wait ends when the child ends, or at a
            // stop.
            await over.opened()
            if reason != nil { group.cancelAll() }
        }
        // The group has waited for its child, so the slot is full.
        let outcome = slot.take() ?? .failure(.cancelled)
        if case .failure = outcome, let reason { throw reason }
        return try outcome.get()
    }

    /// Runs an operation that may throw any error in a child task.
    package func result<Value: Sendable>(
        of operation: @escaping @Sendable () async throws -> Value
    ) async throws(Failure) -> Result<Value, any Error> {
        try await runInChild { () async throws(Failure) in
            do {
                return .success(try await operation())
            } catch {
                return .failure(error)
            }
        }
    }
}

/// The listeners of a scope, and the reason of its stop. Not generic like the scope, because a nongeneric object is
/// deallocated faster, and every call has one.
private final class StopListeners: Sendable {
    enum Listener {
        case closure(@Sendable () -> Void)
        /// An inner scope.
        case scope(StopListeners)

        fileprivate func stop(_ reason: any Error) {
            switch self {
            case .closure(let onStop): onStop()
            case .scope(let inner): inner.stop(reason)
            }
        }
    }

    private struct State {
        var reason: (any Error)?
        /// What a stop reaches.
        var first: (id: Int, listener: Listener)?
        /// Reached likewise: there are several if a child of the operation runs in the same scope.
        var others: [(id: Int, listener: Listener)] = []
        var lastID = 0

        mutating func take() -> [Listener] {
            defer { (first, others) = (nil, []) }
            return (first.map { [$0.listener] } ?? []) + others.map(\.listener)
        }
    }

    private let state = Lock(State())

    var reason: (any Error)? { state.withLock { $0.reason } }

    func stop(_ reason: any Error) {
        let listeners: [Listener] = state.withLock { state in
            guard state.reason == nil else { return [] }
            state.reason = reason
            return state.take()
        }
        for listener in listeners { listener.stop(reason) }
    }

    /// Adds a listener, which a stop reaches; at once, if the scope is already stopped. Returns its number.
    func add(_ listener: Listener) -> Int {
        let (id, reason) = state.withLock { state -> (Int, (any Error)?) in
            guard state.reason == nil else { return (0, state.reason) }
            state.lastID += 1
            let entry = (id: state.lastID, listener: listener)
            if state.first == nil { state.first = entry } else { state.others.append(entry) }
            return (state.lastID, nil)
        }
        if let reason { listener.stop(reason) }
        return id
    }

    func remove(_ id: Int) {
        // Released outside the lock, because what it holds may be a scope of its own.
        var removed: (id: Int, listener: Listener)?
        state.withLock { state in
            if state.first?.id == id {
                removed = state.first.take()
            } else if let index = state.others.firstIndex(where: { $0.id == id }) {
                removed = state.others.remove(at: index)
            }
        }
        withExtendedLifetime(removed) {}
    }
}

/// Storage for the result of a child task.
private final class Slot<Content: Sendable>: Sendable {
    private let content = Lock<Content?>(nil)

    func put(_ content: Content) {
        self.content.withLock { $0 = content }
    }

    func take() -> Content? {
        content.withLock { $0 }
    }
}

extension DiscardingTaskGroup {
    /// Adds a child that starts on the caller's thread, where the system supports that: most calls then change threads
    /// only for the network.
    mutating func startTask(_ operation: @escaping @concurrent @Sendable () async -> Void) {
        if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
            addImmediateTask(operation: operation)
        } else {
            addTask(operation: operation)
        }
    }
}
