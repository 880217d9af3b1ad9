/// Runs an operation and cancels the previous one: for a button that is tapped twice.
///
///     let latest = LatestOnly()
///     let friends = try await latest.run { try await client.run(.friends(of: me.id)) }
///
/// The previous operation ends with `.cancelled`, even if its result had just arrived: an old result never replaces a
/// newer one. The new operation does not wait for the end of the previous one. Canceling the calling task cancels the
/// operation.
///
/// For a search field, each operation can wait until the user has paused:
///
///     let search = LatestOnly(after: .milliseconds(300))
///     let found = try await search.run { try await client.run(.users(named: text)) }
public final class LatestOnly: Sendable {
    private let delay: Duration
    private let time: any TimeSource
    private let current = Lock<CallScope?>(nil)

    /// Creates an instance without an operation.
    ///
    /// - Parameters:
    ///   - delay: How long each operation waits before it begins; zero by default. An operation that is superseded or
    ///     canceled until then never begins.
    ///   - time: The source of time for that wait; the system's clock by default.
    public init(after delay: Duration = .zero, time: any TimeSource = .system) {
        self.delay = delay
        self.time = time
    }

    /// Cancels the running operation, if any, and runs `operation` after the delay. An error that is not a
    /// `ServiceError` becomes `.transport` of the kind `.other`; so does a `CancellationError` if nothing was canceled.
    ///
    /// In a task that is already canceled it throws `.cancelled`, and the running operation continues.
    public func run<Value: Sendable>(
        _ operation: @escaping @Sendable () async throws -> Value
    ) async throws(ServiceError) -> Value {
        if Task.isCancelled { throw .cancelled }
        let scope = CallScope()
        let previous = current.withLock { current in
            defer { current = scope }
            return current
        }
        previous?.stop(.cancelled)
        let outcome: Result<Value, ServiceError>
        do throws(ServiceError) {
            if delay > .zero {
                let begin = time.now.advanced(by: delay)
                try await time.sleep(until: begin, for: .sleeper("the delay of LatestOnly"), in: scope)
            }
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
