/// Passes the tokens of sessions that were signed out to a store's `revoke` closure.
///
/// A sign-out starts it and does not wait for it. It takes no longer than its limit, and keeps the store until then, so
/// that `waitUntilSaved()` can wait for it.
final class TokenRevocation: Sendable {
    /// How long the closure may take, and how long a refresh that was under way may take to bring its token.
    let limit: Duration
    private let revoke: TokenStore.Revoke
    private let time: any TimeSource
    private let underWay = Lock<[Latch]>([])

    init(within limit: Duration, time: any TimeSource, revoke: @escaping TokenStore.Revoke) {
        self.limit = limit
        self.time = time
        self.revoke = revoke
    }

    /// Something that is not over; `nil` if everything is.
    var pending: Latch? { underWay.withLock { $0.last } }

    /// Begins something that `waitUntilSaved()` waits for.
    func begin() -> Latch {
        let work = Latch()
        underWay.withLock { $0.append(work) }
        return work
    }

    /// Ends it.
    func end(_ work: Latch) {
        underWay.withLock { $0.removeAll { $0 === work } }
        work.open()
    }

    /// Starts to revoke a token.
    func start(_ token: Token, of store: TokenStore) {
        let work = begin()
        // Owned by the revocation: the task that signs out may leave.
        time.startTask {
            if let error = await self.failure(of: token, store) { store.send(.notRevoked(error)) }
            self.end(work)
        }
    }

    /// Runs the closure, and returns what went wrong.
    private func failure(of token: Token, _ store: TokenStore) async -> ServiceError? {
        // Its calls are not signed by the store, and a client that is shut down lets them finish.
        let run = RefreshRun(of: store)
        defer { run.end() }
        let result = Promise<Void, ServiceError>()
        let work = TokenStore.$refreshing.withValue(run) {
            time.startTask { [revoke] in
                do {
                    result.complete(.success(try await revoke(token)))
                } catch {
                    result.complete(.failure(ServiceError(revocationFailure: error)))
                }
            }
        }
        let alarm = time.schedule(
            at: time.now.advanced(by: limit), for: .watch("the limit of a revocation")
        ) { [limit] in
            let words = "the token was not revoked within \(limit.displayText)"
            result.complete(.failure(.transport(TransportFailure(.other, words))))
        }
        await result.completion()
        alarm.cancel()
        // A closure that ignores its cancellation is left behind.
        work.cancel()
        guard case .failure(let error) = result.outcome else { return nil }
        return error
    }
}

extension ServiceError {
    fileprivate init(revocationFailure error: any Error) {
        self.init(error) { .transport(TransportFailure(.other, "the revocation failed with \(foreignName(of: $0))")) }
    }
}
