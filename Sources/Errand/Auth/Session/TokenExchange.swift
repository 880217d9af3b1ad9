#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Exchanges tokens with a store's `refresh` closure.
///
/// The closure runs in a task that belongs to no caller and to no refresh: it may ignore its cancellation, and no task
/// waits for it then. A token that it returns all the same is kept for the next refresh: by now the server may accept
/// no older refresh token.
final class TokenExchange: Sendable {
    /// Whether the program obtains the tokens by itself, the first one too. No refusal ends its session then: there is
    /// no user who could sign in again.
    let obtainsTokens: Bool
    private let refresh: TokenStore.Refresh
    private let time: any TimeSource
    /// The token that has come after its refresh was given up, and the session that it was to continue.
    private let late = Lock<(token: Token, session: SavedSession)?>(nil)

    init(time: any TimeSource, obtainsTokens: Bool = false, refresh: @escaping TokenStore.Refresh) {
        self.time = time
        self.obtainsTokens = obtainsTokens
        self.refresh = refresh
    }

    /// Keeps a token for the next refresh of that session.
    func keep(_ token: Token, of session: SavedSession) {
        late.withLock { $0 = (token, session) }
    }

    /// Whether a token has come for that revision of a session after its refresh was given up.
    func hasLate(for session: SavedSession) -> Bool {
        late.withLock { $0.map { ($0.session.id, $0.session.revision) == (session.id, session.revision) } ?? false }
    }

    /// Returns the late token for that session, or the result of the closure; at once if the task is canceled, because
    /// the refresh is given up or its session ends. Calls `takeLate` with a token that comes after that.
    @inline(never)
    func newToken(
        for session: SavedSession, of store: TokenStore, under lock: SessionLock? = nil,
        takeLate: @escaping @Sendable (Token) async -> Void
    ) async -> Result<Token, ServiceError> {
        let isLate = hasLate(for: session)
        // One of a session that has ended, or was refreshed since, is of no use.
        if let token = late.withLock({ $0.take() })?.token, isLate { return .success(token) }
        let run = RefreshRun(of: store, for: session.id, under: lock)
        let result = Promise<Token, ServiceError>()
        // No child of this task, which would have to wait for a closure that ignores its cancellation.
        let work = TokenStore.$refreshing.withValue(run) {
            time.startTask { [refresh] in
                do {
                    result.complete(.success(try await refresh(session.token)))
                } catch {
                    result.complete(.failure(ServiceError(refreshFailure: error)))
                }
            }
        }
        let outcome: Result<Token, ServiceError>
        do throws(ServiceError) {
            outcome = .success(try await result.value())
        } catch {
            outcome = .failure(error)
        }
        // What has come in the moment of the cancellation is the result.
        if result.outcome == nil, let revocation = store.revocation(of: session) {
            revoke(result, of: work, by: revocation, run) { await store.takeLate($0, of: session) }
            return outcome
        }
        if let outcome = result.outcome {
            // From here on, tasks that the closure has left behind are like any other, even while the token is saved.
            run.end()
            return outcome
        }
        run.abandon()
        work.cancel()
        // It has no owner: it ends with the closure.
        time.startTask {
            await result.completion()
            if let token = try? result.outcome?.get() { await takeLate(token) }
        }
        return outcome
    }

    /// Lets the closure finish although its session was signed out: the server may have replaced the token already, and
    /// the new one is to be revoked like the old one (T6).
    private func revoke(
        _ result: Promise<Token, ServiceError>, of work: Task<Void, Never>, by revocation: TokenRevocation,
        _ run: RefreshRun, discard: @escaping @Sendable (Token) async -> Void
    ) {
        let pending = revocation.begin()
        let alarm = time.schedule(
            at: time.now.advanced(by: revocation.limit), for: .watch("the limit of a refresh after a sign-out")
        ) {
            work.cancel()
            run.end()
            revocation.end(pending)
        }
        // Owned by the revocation, and over at its limit.
        time.startTask {
            await result.completion()
            alarm.cancel()
            run.end()
            // A refresh that has failed has brought nothing to discard.
            if let token = try? result.outcome?.get() { await discard(token) }
            revocation.end(pending)
        }
    }
}

/// One run of a store's `refresh` closure.
///
/// A task that the closure has started and left behind inherits it; when the closure is over that task is like any
/// other.
final class RefreshRun: SendLock {
    private let store: ObjectIdentifier
    /// The session whose token is exchanged; `nil` if the run is none's.
    let session: UUID?
    /// Whether the next process knows that session.
    let outlivesProcess: Bool
    private let lock: SessionLock?
    private let over = Latch()
    private let isAbandoned = Lock(false)

    init(of store: TokenStore, for session: UUID? = nil, under lock: SessionLock? = nil) {
        self.store = ObjectIdentifier(store)
        self.session = session
        outlivesProcess = store.outlivesProcess
        self.lock = lock
    }

    /// Throws if the lock was lost under which the closure runs: another process may be using the refresh token by now.
    func checkLock() throws(ServiceError) {
        if let loss = lockInUse?.loss { throw .storage(loss) }
    }

    var isLost: Bool { lockInUse?.loss != nil }

    var timeLeft: Duration? {
        lockInUse?.end.map { $0.time.now.duration(to: $0.instant) }
    }

    /// The lock that must be held when the closure sends something; `nil` if there is none.
    private var lockInUse: SessionLock? {
        isUnderWay || isAbandoned.withLock { $0 } ? lock : nil
    }

    var isUnderWay: Bool { !over.isOpen }

    func isUnderWay(of store: TokenStore) -> Bool {
        self.store == ObjectIdentifier(store) && isUnderWay
    }

    func end() {
        over.open()
    }

    /// Ends the run although its closure may continue. If other machines wait for the lock, the closure sends nothing
    /// more: one of them may use the refresh token soon.
    func abandon() {
        if lock?.end != nil { lock?.lose("the refresh was given up") }
        isAbandoned.withLock { $0 = true }
        end()
    }

    /// Waits until the run has ended, even if the task is canceled.
    func ended() async {
        await over.opened()
    }
}

extension ServiceError {
    fileprivate init(refreshFailure error: any Error) {
        self.init(error) { .transport(TransportFailure(.other, "the refresh failed with \(foreignName(of: $0))")) }
        // The callers that wait for the token were not canceled.
        if self == .cancelled {
            self = .transport(TransportFailure(.other, "the refresh of the access token was canceled"))
        }
    }
}
