/// Runs an operation and cancels the previous one: for a button that is tapped twice.
///
///     let latest = LatestOnly()
///     let friends = try await latest.run { try await client.run(.friends(of: me.id)) }
///
/// The previous operation ends with `.cancelled`, even if its result had just arrived: an old result never replaces a
/// newer one. The new operation does not wait for the end of the previous one. Cancelling the calling task cancels the
/// operation.
public final class LatestOnly: Sendable {
    private let current = Lock<CallScope?>(nil)

    /// Creates an instance without an operation.
    public init() {}

    /// Cancels the running operation, if any, and runs `operation`. An error that is not a `ServiceError` becomes
    /// `.transport` of the kind `.other`; so does a `CancellationError` if nothing was cancelled.
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
                            .transport(TransportFailure(.other, "the operation threw \(foreignName(of: $0))"))
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

    /// Cancels the running operation, if there is one.
    public func cancel() {
        let previous = current.withLock { current in
            defer { current = nil }
            return current
        }
        previous?.stop(.cancelled)
    }
}
