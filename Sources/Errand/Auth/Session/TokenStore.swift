#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
import Synchronization

/// Holds the access token of one signed-in user, and refreshes it once, however many calls need a new one.
///
///     let tokens = TokenStore(persistence: .file("/var/lib/app/session")) { old in
///         try await login.run(.refresh(old)).token
///     }
///     let client = APIClient("https://api.example.com") { $0.tokens = tokens }
///
/// A call is bound to the session that is current when it begins: it is never sent with the token of another user. A
/// refresh belongs to the store and not to the call that found the token expired: it continues when a caller leaves,
/// and its result is saved before any call uses it. Only if saving takes longer than the `refreshTimeout`, because the
/// disk does not respond, calls use it unsaved. A call made inside the `refresh` closure is not signed by this store
/// and goes to the front of its limiter's queue, so a refresh waits neither for itself nor for the calls that wait for
/// it.
///
/// A refresh that does not come back ends after a minute, or the `refreshTimeout` that you choose: the waiting calls
/// fail, the session continues, and the next call refreshes again. One that makes its calls in `Task.detached` can hang
/// that way: a detached task does not belong to the closure, so a call that it makes waits for the refresh. Use `async
/// let`, a task group or `Task { … }` instead.
///
/// Before a program ends, shut down its clients, and wait for the store with ``waitUntilSaved()``.
public actor TokenStore {
    /// A closure that exchanges an expired token for a new one.
    public typealias Refresh = @Sendable (Token) async throws -> Token
    typealias State = SessionState<Flight<Token, ServiceError>>

    let persistence: any TokenPersistence
    let time: any TimeSource
    /// The closure that exchanges tokens; `nil` if the server replaces none.
    nonisolated let refresh: Refresh?
    let broadcast = Broadcast<TokenEvent>()
    /// The session. It is behind a lock, so that a call with a valid token takes no turn on the actor.
    nonisolated let state: Lock<State>
    private nonisolated let watchers = SessionWatchers()

    /// How long a refresh may take.
    let refreshTimeout: Duration
    var refreshTask: Task<Void, Never>?
    /// The refresh that waits for the end of a pause, and has not begun.
    var pausing: Flight<Token, ServiceError>?
    /// What a refresh has brought and has not saved yet.
    var unsaved: (refresh: Flight<Token, ServiceError>, session: SavedSession)?
    /// The token that a refresh has brought after it was given up, and the session that it was to continue.
    var late: (token: Token, session: SavedSession)?
    var loading: Flight<Void, ServiceError>?
    /// The saving that waits for its turn: it will save whatever the session is then.
    var coming: Flight<Void, ServiceError>?
    var lastTurn: Flight<Void, ServiceError>?

    /// Creates a store. It loads the saved session when the first call needs it.
    ///
    /// - Parameters:
    ///   - persistence: Where to save the session; in memory by default.
    ///   - leeway: How long before its expiry a token is refreshed, while calls still use it: 60 seconds by default.
    ///     For a token that lives shorter than twice this, it is half the lifetime.
    ///   - refreshTimeout: How long a refresh may take: 60 seconds by default. Then the waiting calls fail with
    ///     `.timedOut`, and the task of `refresh` is cancelled. If it returns a token all the same, that is still used,
    ///     unless the session has ended or was refreshed since. If only saving the new token takes that long, calls use
    ///     it unsaved, and `events` reports that.
    ///   - time: The source of time.
    ///   - refresh: Returns a new token. The session ends if it throws `.sessionExpired` or `.signInRequired`, or a
    ///     `.rejected` that says so: with the status 401, or with one of the OAuth codes `invalid_grant`,
    ///     `invalid_request`, `invalid_scope` and `unsupported_grant_type`. It does not end because of
    ///     `invalid_client`, `unauthorized_client` or a 400 without a code. Any other error keeps the session: the
    ///     waiting calls fail with it, and the next call refreshes again after a delay.
    public init(
        persistence: any TokenPersistence = .memory, leeway: Duration = .seconds(60),
        refreshTimeout: Duration = .seconds(60), time: any TimeSource = .system, refresh: @escaping Refresh
    ) {
        self.persistence = persistence
        self.refreshTimeout = refreshTimeout
        self.time = time
        self.refresh = refresh
        state = Lock(State(leeway: max(leeway, .zero).inSeconds))
    }

    /// Creates a store of tokens that the server does not replace. A 401 is the result of the call then; the app signs
    /// the user out if that is what it means. A token that expires ends the session.
    public init(persistence: any TokenPersistence = .memory, time: any TimeSource = .system) {
        self.persistence = persistence
        refreshTimeout = .seconds(60)
        self.time = time
        refresh = nil
        state = Lock(State(leeway: 0))
    }

    /// The events of the session from now on. The stream ends with the store. Each listener receives all events; their
    /// number is not limited, so read them or drop the stream.
    public nonisolated var events: AsyncStream<TokenEvent> {
        broadcast.stream(keeping: .unbounded)
    }

    /// Begins a session with that token. A previous session ends, and its calls fail with `.sessionExpired`.
    ///
    /// Returns when the token has been saved. If saving fails, because the disk is full or another process does not
    /// release its lock on a shared file, the user is signed in all the same, and `events` reports the reason. If the
    /// task is cancelled, it returns at once, and the token is still saved. Inside the `refresh` closure it returns at
    /// once, and the token is saved when the refresh is over.
    public func signIn(_ token: Token) async {
        let session = SavedSession(id: time.randomUUID(), token: token, received: time.date)
        if change({ $0.signIn(session) }) { await saveCurrent() }
    }

    /// Ends the session at once, and returns when the saved session has been removed. Its calls that wait for a token
    /// fail with `.sessionExpired`. If the saved session cannot be removed, `events` reports the reason: the next start
    /// may sign the user in again. If the task is cancelled, it returns at once, and the saved session is still
    /// removed. Inside the `refresh` closure it returns at once, and the saved session is removed when the refresh is
    /// over.
    public func signOut() async {
        if change({ $0.signOut() }) { await saveCurrent() }
    }

    /// Signs out if the token belongs to the current session. Otherwise does nothing, so a late discovery that a token
    /// is invalid does not end the session of another user.
    public func signOut(of token: Token) async {
        if state.withLock({ $0.knows(token) }) { await signOut() }
    }

    /// Whether a user is signed in. Loads the saved session if necessary.
    public var isSignedIn: Bool {
        get async {
            // If the session cannot be loaded, nobody is signed in. A cancelled caller still waits for the load,
            // because a cancellation signs nobody out.
            await startLoading()?.landed()
            return presentSession != nil
        }
    }

    /// Returns a token that is valid now, and refreshes it if necessary. Within the leeway it returns the current
    /// token, and a refresh runs in parallel.
    ///
    /// Throws `.signInRequired` without a session. A cancelled waiter leaves at once; the refresh continues. Inside the
    /// `refresh` closure, where it would wait for itself, it throws `.invalidRequest` instead.
    public func token() async throws(ServiceError) -> Token {
        try await token(of: session(), in: CallScope())
    }

    /// Returns the token to use after the server has refused `rejected`: the current one if the token was replaced
    /// meanwhile, otherwise a new one.
    public func replacement(for rejected: Token) async throws(ServiceError) -> Token {
        let session = try await session()
        guard state.withLock({ $0.knows(rejected) }) else { throw .sessionExpired(SessionExpiry(.otherSession)) }
        return try await token(of: session, insteadOf: rejected.access, in: CallScope())
    }

    // MARK: For the layer that signs

    /// The current session, if it is known without a wait.
    nonisolated var presentSession: UUID? { state.withLock { $0.session?.id } }

    /// Returns the session of a call that begins now.
    nonisolated func session() async throws(ServiceError) -> UUID {
        if let presentSession { return presentSession }
        try await load()
        guard let presentSession else { throw .signInRequired }
        return presentSession
    }

    /// Returns the session's current token, and whether the caller should start a refresh for later calls; `nil` if the
    /// call has to wait for a token.
    nonisolated func currentToken(of session: UUID) throws(ServiceError) -> (token: Token, isRefreshDue: Bool)? {
        switch status(of: session) {
        case .good(let token): return (token, false)
        case .aging(let token): return (token, mayRefreshBeside(session))
        case .ended(let expiry): throw .sessionExpired(expiry)
        case .beingReplaced, .expired: return nil
        }
    }

    /// Whether a refresh for later calls may start now. Asked before the turn on the actor that starts it: while the
    /// last one has failed a moment ago, calls with an aging token take no turn.
    private nonisolated func mayRefreshBeside(_ session: UUID) -> Bool {
        let now = time.now
        return state.withLock { $0.mayRefreshBeside(session, at: now) }
    }

    /// Returns a token of that session that is valid now. If the server has refused `rejected`, it is another one.
    nonisolated func token(
        of session: UUID, insteadOf rejected: String? = nil, in scope: CallScope
    ) async throws(ServiceError) -> Token {
        if let rejected {
            let now = time.now
            state.withLock { $0.refuse(rejected, of: session, at: now) }
        }
        switch status(of: session, rejecting: rejected) {
        case .good(let token): return token
        case .ended(let expiry): throw .sessionExpired(expiry)
        case .beingReplaced(let flight): return try await arrival(of: flight, in: scope)
        case .aging(let token):
            if mayRefreshBeside(session) { await refreshBeside(session) }
            return token
        case .expired: return try await arrival(of: startRefresh(of: session, rejecting: rejected), in: scope)
        }
    }

    /// Calls `ended` when that session ends, or at once if it has, until the watch is cancelled. It may be called more
    /// than once.
    nonisolated func watch(
        _ session: UUID, _ ended: @escaping @Sendable (ServiceError) -> Void
    ) -> SessionWatch {
        let watch = watchers.add(session, ended)
        if presentSession != session { ended(endOf(session)) }
        return watch
    }

    private nonisolated func endOf(_ session: UUID) -> ServiceError {
        if case .ended(let expiry) = status(of: session) { return .sessionExpired(expiry) }
        return .sessionExpired(SessionExpiry(.otherSession))
    }

    /// Notes that the server has accepted a request with that token.
    nonisolated func accept(_ access: String) {
        state.withLock { $0.accept(access) }
    }

    /// Notes that the server has refused a replay with a token that had just replaced a refused one.
    nonisolated func refuseReplay(with access: String) {
        let now = time.now
        state.withLock { $0.refuseReplay(with: access, at: now) }
    }

    nonisolated func status(of session: UUID, rejecting rejected: String? = nil) -> State.Status {
        let date = time.date
        guard let rejected else { return state.withLock { $0.status(of: session, at: date) } }
        return state.withLock { $0.status(of: session, at: date, rejecting: rejected) }
    }

    private nonisolated func arrival(of flight: Flight<Token, ServiceError>, in scope: CallScope)
        async throws(ServiceError) -> Token
    {
        guard flight.outcome != nil || !isRefreshingHere else {
            throw .badSetting("the refresh of a token store asks the same store for a fresh token")
        }
        return try await flight.value(in: scope)
    }

    // MARK: Transitions

    /// Performs a transition and carries out its actions. Returns whether the caller has to save the session: it
    /// decides when, because saving takes time.
    @discardableResult
    func change(_ transition: (inout State) -> [State.Action]) -> Bool {
        var mustSave = false
        let (actions, hasEnded) = state.withLock { state in
            let session = state.session?.id
            let actions = transition(&state)
            return (actions, session != nil && state.session?.id != session)
        }
        if hasEnded { watchers.tell(except: presentSession, endOf) }
        for action in actions {
            switch action {
            case .start(let flight, let instant):
                pausing = instant > time.now ? flight : nil
                // The store owns the task, not the call that came first: it outlives every waiter, so a rotated token
                // is never lost (T5).
                refreshTask = Task(executorPreference: time.executor) {
                    await self.takeTurn(toRefresh: flight, notBefore: instant)
                }
            case .cancelRefresh:
                // The sooner it ends, the sooner the lock on a shared file is free.
                refreshTask?.cancel()
                refreshTask = nil
            case .resume(let flight, let outcome): flight.land(outcome)
            case .send(let event): broadcast.send(event)
            case .save: mustSave = true
            }
        }
        return mustSave
    }

    deinit { broadcast.finish() }
}

extension TimeSource {
    /// A random UUID (version 4).
    func randomUUID() -> UUID {
        let (high, low) = (random(), random())
        func byte(_ word: UInt64, _ index: Int) -> UInt8 { UInt8(truncatingIfNeeded: word >> (8 * index)) }
        return UUID(
            uuid: (
                byte(high, 0), byte(high, 1), byte(high, 2), byte(high, 3), byte(high, 4), byte(high, 5),
                byte(high, 6) & 0x0F | 0x40, byte(high, 7), byte(low, 0) & 0x3F | 0x80, byte(low, 1), byte(low, 2),
                byte(low, 3), byte(low, 4), byte(low, 5), byte(low, 6), byte(low, 7)
            ))
    }
}
