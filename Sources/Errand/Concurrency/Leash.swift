/// Runs one operation that others may stop, each for a reason of its own.
///
/// What waits for things that know nothing of leashes goes into a child task with `run`: a stop cancels it and waits until
/// it has wound up. What hears of a stop by itself stays in the caller's task with `hold`, at a third of the cost. Either
/// way the reason of the stop becomes the error, and nothing of the operation runs on after the end. A value that was
/// there before the stop took effect is kept.
/// States: not begun, running (the caller may be waiting for a child, or be listening), stopped, over. The first stop
/// counts; one after the end reaches nobody.
package final class Leash: Sendable {
    private struct State {
        package var reason: ServiceError?
        var hasChild = false
        var waiting: CheckedContinuation<Void, Never>?
        var listener: (@Sendable () -> Void)?
    }

    private let state = Lock(State())

    package init() {}

    /// Why it was stopped, if it was.
    package var reason: ServiceError? { state.withLock { $0.reason } }

    /// Stops the operation, or keeps it from starting.
    func stop(_ reason: ServiceError) {
        let (waiting, listener): (CheckedContinuation<Void, Never>?, (@Sendable () -> Void)?) = state.withLock {
            state in
            guard state.reason == nil else { return (nil, nil) }
            state.reason = reason
            defer {
                state.waiting = nil
                state.listener = nil
            }
            return (state.waiting, state.listener)
        }
        waiting?.resume()
        listener?()
    }

    /// Runs the operation in the caller's own task. It must put each of its waits on this leash, by `listen` or `run`.
    func hold<Value: Sendable>(
        _ operation: (Leash) async throws(ServiceError) -> Value
    ) async throws(ServiceError) -> Value {
        if let reason { throw reason }
        do throws(ServiceError) {
            return try await operation(self)
        } catch {
            throw reason ?? error
        }
    }

    /// Waits in the caller's own task, and calls `onStop`, at most twice, if the leash is stopped or the task cancelled
    /// meanwhile: it must see to it that `wait` ends, and do no harm when that is over.
    package func listen<Value: Sendable>(
        during wait: () async -> Value, onStop: @escaping @Sendable () -> Void
    ) async -> Value {
        await withTaskCancellationHandler {
            let isStopped = state.withLock { state in
                if state.reason == nil { state.listener = onStop }
                return state.reason != nil
            }
            if isStopped { onStop() }
            defer { state.withLock { $0.listener = nil } }
            return await wait()
        } onCancel: {
            onStop()
        }
    }

    /// Runs the operation in a child task.
    package func run<Value: Sendable>(
        _ operation: @escaping @Sendable () async throws(ServiceError) -> Value
    ) async throws(ServiceError) -> Value {
        if let reason { throw reason }
        state.withLock { $0.hasChild = true }
        let slot = Slot<Result<Value, ServiceError>>()
        // A group that keeps no results costs a third less, and the one result is at hand anyway.
        await withDiscardingTaskGroup { group in
            group.startTask {
                do throws(ServiceError) {
                    slot.put(.success(try await operation()))
                } catch {
                    slot.put(.failure(error))
                }
                self.childEnded()
            }
            // A cancellation of the caller reaches the child by itself; this wait ends when the child does, or with a
            // stop.
            if await self.isStopped() { group.cancelAll() }
        }
        // The group has waited for its child.
        let outcome = slot.take() ?? .failure(.cancelled)
        if case .failure = outcome, let reason { throw reason }
        return try outcome.get()
    }

    /// Runs an operation that may throw anything in a child task.
    package func result<Value: Sendable>(
        of operation: @escaping @Sendable () async throws -> Value
    ) async throws(ServiceError) -> Result<Value, any Error> {
        try await run { () async throws(ServiceError) in
            do {
                return .success(try await operation())
            } catch {
                return .failure(error)
            }
        }
    }

    private func childEnded() {
        let waiting = state.withLock { state in
            state.hasChild = false
            defer { state.waiting = nil }
            return state.waiting
        }
        waiting?.resume()
    }

    /// Waits for the child's end or a stop, whichever comes first.
    private func isStopped() async -> Bool {
        if state.withLock({ $0.hasChild && $0.reason == nil }) {
            await withCheckedContinuation { continuation in
                let isSettled = state.withLock { state in
                    guard state.hasChild, state.reason == nil else { return true }
                    state.waiting = continuation
                    return false
                }
                if isSettled { continuation.resume() }
            }
        }
        return reason != nil
    }
}

/// Where a child task leaves what it brings.
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
    /// Adds a child that starts on the caller's thread, where the system can do that: most calls then change threads
    /// only for the network.
    mutating func startTask(_ operation: @escaping @concurrent @Sendable () async -> Void) {
        if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
            addImmediateTask(operation: operation)
        } else {
            addTask(operation: operation)
        }
    }
}
