/// Runs an operation and cancels the one it still had running: the button that is tapped twice.
///
///     let latest = LatestOnly()
///     let friends = try await latest.run { try await client.run(.friends(of: me.id)) }
///
/// The operation that was overtaken ends with `.cancelled`, even if its answer had just come: an old answer never
/// arrives after a newer question. Cancelling the calling task cancels the operation.
public final class LatestOnly: Sendable {
    private let current = Lock<CallScope?>(nil)

    /// Makes one with nothing running.
    public init() {}

    /// Cancels what still runs and runs `operation`. An error of its own that is none of ours becomes `.transport` of
    /// the kind `.middleware`, a `CancellationError` too if nothing was cancelled.
    public func run<Value: Sendable>(
        _ operation: @escaping @Sendable () async throws -> Value
    ) async throws(ServiceError) -> Value {
        let scope = CallScope()
        let previous = current.withLock { current in
            defer { current = scope }
            return current
        }
        previous?.stop(.cancelled)
        let outcome: Result<Value, ServiceError>
        do throws(ServiceError) {
            outcome = .success(
                try await scope.runInChild { () async throws(ServiceError) in
                    do {
                        return try await operation()
                    } catch {
                        throw ServiceError(error) {
                            .transport(TransportFailure(.middleware, "the operation threw \(foreignName(of: $0))"))
                        }
                    }
                })
        } catch {
            outcome = .failure(error)
        }
        let isLatest = current.withLock { current in
            guard let latest = current, latest === scope else { return false }
            current = nil
            return true
        }
        guard isLatest else { throw .cancelled }
        return try outcome.get()
    }

    /// Cancels what still runs, if anything does.
    public func cancel() {
        let previous = current.withLock { current in
            defer { current = nil }
            return current
        }
        previous?.stop(.cancelled)
    }
}
