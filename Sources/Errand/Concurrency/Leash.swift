/// Runs one operation that others may stop, each for a reason of its own.
///
/// What waits for things that know nothing of leashes goes into a child task with `run`: a stop cancels it and waits
/// until it has wound up. What hears of a stop by itself stays in the caller's task with `hold`, at a third of the
/// cost. Either way the reason of the stop becomes the error, and nothing of the operation runs on after the end. A
/// value that was there before the stop took effect is kept. States: not begun, running (the caller may be waiting for
/// a child, or be listening), stopped, over. The first stop counts; one after the end reaches nobody.
package final class Leash: Sendable {
    private struct State {
        var reason: ServiceError?
        /// What is called at a stop: several, where a child of the operation runs on the same leash.
        var listeners: [(seat: Int, onStop: @Sendable () -> Void)] = []
        var nextSeat = 0
    }

    private let state = Lock(State())

    package init() {}

    /// Why it was stopped, if it was.
    private var reason: ServiceError? { state.withLock { $0.reason } }

    /// Whether what runs on it in the present task is to end.
    package var isStopped: Bool { Task.isCancelled || reason != nil }

    /// Whether it was stopped because its time was up.
    package var isOutOfTime: Bool {
        if case .timedOut = reason { true } else { false }
    }

    /// Stops the operation, or keeps it from starting.
    func stop(_ reason: ServiceError) {
        let listeners: [@Sendable () -> Void] = state.withLock { state in
            guard state.reason == nil else { return [] }
            state.reason = reason
            defer { state.listeners = [] }
            return state.listeners.map(\.onStop)
        }
        for onStop in listeners { onStop() }
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
            let seat = sit(onStop)
            defer { leave(seat) }
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
        let slot = Slot<Result<Value, ServiceError>>()
        let over = Flight<Void>()
        let seat = sit { over.land(.success(())) }
        defer { leave(seat) }
        // A group that keeps no results costs a third less, and the one result is at hand anyway.
        await withDiscardingTaskGroup { group in
            group.startTask {
                do throws(ServiceError) {
                    slot.put(.success(try await operation()))
                } catch {
                    slot.put(.failure(error))
                }
                over.land(.success(()))
            }
            // A cancellation of the caller reaches the child by itself; this wait ends when the child does, or with a
            // stop.
            await over.landed()
            if reason != nil { group.cancelAll() }
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

    /// Has `onStop` called at a stop, or at once if there was one.
    private func sit(_ onStop: @escaping @Sendable () -> Void) -> Int {
        let seat: Int? = state.withLock { state in
            guard state.reason == nil else { return nil }
            state.nextSeat += 1
            state.listeners.append((state.nextSeat, onStop))
            return state.nextSeat
        }
        if seat == nil { onStop() }
        return seat ?? 0
    }

    private func leave(_ seat: Int) {
        state.withLock { $0.listeners.removeAll { $0.seat == seat } }
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
