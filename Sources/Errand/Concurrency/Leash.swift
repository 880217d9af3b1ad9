/// Runs one operation in a child task that others may stop, each for a reason of its own.
///
/// A stop cancels the child task, waits until it has wound up, and makes the reason the error, so nothing of the
/// operation runs on after `run` has returned. A value that was there before the stop took effect is kept.
/// States: not begun, running (the caller may be waiting), stopped, over. The first stop counts; after the end it
/// does nothing.
final class Leash: Sendable {
    private struct State {
        var reason: ServiceError?
        var isOver = false
        var waiting: CheckedContinuation<Void, Never>?
    }

    private let state = Lock(State())

    private var reason: ServiceError? { state.withLock { $0.reason } }

    /// Stops the operation, or keeps it from starting.
    func stop(_ reason: ServiceError) {
        let waiting: CheckedContinuation<Void, Never>? = state.withLock { state in
            guard !state.isOver, state.reason == nil else { return nil }
            state.reason = reason
            defer { state.waiting = nil }
            return state.waiting
        }
        waiting?.resume()
    }

    /// Runs the operation. Call it once.
    func run<Value: Sendable>(
        _ operation: @escaping @Sendable () async throws(ServiceError) -> Value
    ) async throws(ServiceError) -> Value {
        if let reason { throw reason }
        let slot = Slot<Result<Value, ServiceError>>()
        // A group that keeps no results costs a third less, and the one result is at hand anyway.
        await withDiscardingTaskGroup { group in
            group.startTask {
                do throws(ServiceError) {
                    slot.put(.success(try await operation()))
                } catch {
                    slot.put(.failure(error))
                }
                self.end()
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

    /// Runs the operation, and stops it with `reason` if it has not ended at `instant`.
    func run<Value: Sendable>(
        until instant: Instant, of time: any TimeSource, else reason: @escaping @Sendable () -> ServiceError,
        _ operation: @escaping @Sendable () async throws(ServiceError) -> Value
    ) async throws(ServiceError) -> Value {
        guard instant < .distantFuture else { return try await run(operation) }
        let alarm = time.schedule(at: instant, for: .watch) { self.stop(reason()) }
        defer { alarm.cancel() }
        return try await run(operation)
    }

    private func end() {
        let waiting = state.withLock { state in
            state.isOver = true
            defer { state.waiting = nil }
            return state.waiting
        }
        waiting?.resume()
    }

    /// Waits for the end or a stop, whichever comes first.
    private func isStopped() async -> Bool {
        if state.withLock({ !$0.isOver && $0.reason == nil }) {
            await withCheckedContinuation { continuation in
                let isSettled = state.withLock { state in
                    guard !state.isOver, state.reason == nil else { return true }
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
