#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Holds the access token of one signed-in user, and refreshes it once, however many calls need a new one.
///
///     let tokens = TokenStore(persistence: .file("/var/lib/app/session")) { old in
///         try await login.run(.refresh(old)).token
///     }
///     let client = APIClient("https://api.example.com") { $0.tokens = tokens }
///
/// A call is bound to the session that is current when it begins: it is never sent with the token of another user, and
/// it ends with its session. A refresh belongs to the store and not to the call that found the token expired: it
/// continues when a caller leaves, and its result is saved before any call uses it. Only if saving fails, or takes
/// longer than the `refreshTimeout`, calls use it unsaved, and `events` reports that. A call made inside the `refresh`
/// closure is not signed by this store and goes to the front of its limiter's queue, so a refresh waits neither for
/// itself nor for the calls that wait for it.
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
    /// A closure that asks the server to revoke a token.
    public typealias Revoke = @Sendable (Token) async throws -> Void
    typealias State = LiveSession.State

    /// The run of a `refresh` closure that the current task belongs to; `nil` if it belongs to none.
    @TaskLocal static var refreshing: RefreshRun?

    // The actor makes the transitions of the session, one after the other, and carries out their actions. The rest is
    // done by its parts, each with a state of its own.

    /// The session, which can be read without a wait for the actor.
    nonisolated let live: LiveSession
    /// What is saved, and the queue of those who use it.
    private nonisolated let storage: SessionStorage
    /// What loads and saves the session.
    private nonisolated let sync: SessionSync
    /// What exchanges tokens; `nil` if the server replaces none.
    private nonisolated let exchange: TokenExchange?
    /// What revokes tokens when the user signs out; `nil` if nothing does.
    private nonisolated let revocation: TokenRevocation?
    private nonisolated let time: any TimeSource
    /// The nonces that servers want in the proofs of calls.
    nonisolated let proofNonces = ProofNonces()
    private nonisolated let refreshTimeout: Duration
    private nonisolated let broadcast = Broadcast<TokenEvent>()

    /// The last refresh that was started, if it was not canceled.
    private var lastRefresh: SessionRefresh?

    /// Creates a store. It loads the saved session when the first call needs it.
    ///
    /// - Parameters:
    ///   - persistence: Where to save the session; in memory by default.
    ///   - leeway: How long before its expiry a token is refreshed, while calls still use it: 60 seconds by default.
    ///     For a token that lives shorter than twice this, it is half the lifetime.
    ///   - refreshTimeout: How long a refresh may take: 60 seconds by default. Then the waiting calls fail with
    ///     `.timedOut`, and the task of `refresh` is canceled. If it returns a token all the same, that is still used,
    ///     unless the session has ended or was refreshed since. If only saving the new token takes that long, calls use
    ///     it unsaved, and `events` reports that.
    ///   - time: The source of time.
    ///   - refresh: Returns a new token. The session ends if it throws `.sessionExpired` or `.signInRequired`, or a
    ///     `.rejected` that says so: with the status 401 and no temporary code (such as `slow_down`), or with one of
    ///     the OAuth codes `invalid_grant`, `invalid_request`, `invalid_scope` and `unsupported_grant_type`. Three
    ///     empty 400s in a row, over a minute or more, end it too. Any other error keeps the session: waiting calls
    ///     fail with it, and the next call refreshes again after a delay. See <doc:Sessions#When-a-refresh-fails>.
    ///   - revoke: Asks the server to revoke the token of a session that ends with ``signOut()``, so that no one else
    ///     can use it; nothing by default. It runs beside the sign-out, for no longer than the `refreshTimeout`; if it
    ///     fails, `events` reports that. Its calls are not signed by this store. A refresh that is under way finishes,
    ///     and its token is revoked, too. ``waitUntilSaved()`` waits for it. It does not run when another user signs
    ///     in, or when the session ends in another way: sign out first.
    public init(
        persistence: any TokenPersistence = .memory, leeway: Duration = .seconds(60),
        refreshTimeout: Duration = .seconds(60), time: any TimeSource = .system, refresh: @escaping Refresh,
        revoke: Revoke? = nil
    ) {
        self.init(
            persistence, leeway, refreshTimeout, time, TokenExchange(time: time, refresh: refresh), revoke)
    }

    /// Creates a store of tokens that the server does not replace. A 401 is the result of the call then; the app signs
    /// the user out if that is what it means. A token that expires ends the session.
    public init(persistence: any TokenPersistence = .memory, time: any TimeSource = .system) {
        self.init(persistence, .zero, .seconds(60), time, nil, nil)
    }

    /// Creates a store of tokens that the program obtains by itself, for a service that acts for no user.
    ///
    ///     let tokens = TokenStore { try await oauth.token(.clientCredentials) }
    ///
    /// The first call without a session obtains a token, and the calls beside it wait for that token. It is saved and
    /// shared like any other, and obtained again when it has expired or the server has refused it. If it cannot be
    /// obtained, the waiting calls fail with that error, and the next call tries again after a delay. No error ends the
    /// session; after ``signOut()``, the next call begins another.
    ///
    /// `obtain` returns a new token; its calls are not signed by this store. The other parameters are those of a store
    /// that refreshes tokens.
    public init(
        persistence: any TokenPersistence = .memory, leeway: Duration = .seconds(60),
        refreshTimeout: Duration = .seconds(60), time: any TimeSource = .system,
        obtain: @escaping @Sendable () async throws -> Token, revoke: Revoke? = nil
    ) {
        self.init(
            persistence, leeway, refreshTimeout, time,
            TokenExchange(time: time, obtainsTokens: true) { _ in try await obtain() }, revoke)
    }

    private init(
        _ persistence: any TokenPersistence, _ leeway: Duration, _ refreshTimeout: Duration, _ time: any TimeSource,
        _ exchange: TokenExchange?, _ revoke: Revoke?
    ) {
        live = LiveSession(leeway: max(leeway, .zero).inSeconds, revokes: revoke != nil, time: time)
        revocation = revoke.map { TokenRevocation(within: refreshTimeout, time: time, revoke: $0) }
        storage = SessionStorage(persistence, time: time)
        sync = SessionSync(of: live, with: storage, obtainsTokens: exchange?.obtainsTokens == true, time: time)
        self.exchange = exchange
        self.time = time
        self.refreshTimeout = refreshTimeout
    }

    /// The events of the session from now on. The stream ends with the store. Each listener receives all events; their
    /// number is not limited, so read them or drop the stream.
    public nonisolated var events: AsyncStream<TokenEvent> {
        broadcast.stream()
    }

    /// Begins a session with that token. A previous session ends, and its calls and streams with it, as with
    /// ``signOut()``.
    ///
    /// Returns when the token has been saved. If saving fails, because the disk is full or another process does not
    /// release its lock on a shared file, the user is signed in all the same, and `events` reports the reason. If the
    /// task is canceled, it returns at once, and the token is still saved. Inside the `refresh` closure it returns at
    /// once, and the token is saved when the refresh is over.
    public func signIn(_ token: Token) async {
        await begin(token)
    }

    /// Begins a session, and returns when it has been saved.
    func begin(_ token: Token, keeping kept: Data? = nil) async {
        let session = SavedSession(id: time.randomUUID(), token: token, received: time.date, kept: kept)
        if change({ $0.signIn(session) }) { await saveCurrent() }
    }

    /// Ends the session at once, and returns when the saved session has been removed. Its calls and streams fail with
    /// `.sessionExpired`, whatever they wait for, so that no screen receives the data of an earlier user. A call whose
    /// request has been sent may have had its effect: see ``ServiceError/mayHaveReachedServer``. With
    /// ``Endpoint/outlivingSession()``, such a call returns its response. A middleware that signs out ends its own
    /// call, too.
    ///
    /// If the saved session cannot be removed, `events` reports the reason: the next start may sign the user in again.
    /// If the task is canceled, it returns at once, and the saved session is still removed. Inside the `refresh`
    /// closure it returns at once, and the saved session is removed when the refresh is over.
    ///
    /// Nothing that an ``HTTPCache`` or a ``CookieJar`` has of the session is used from then on. What they have on a
    /// disk is removed beside that, so a program that ends now may leave it there: wait for ``waitUntilSaved()`` first.
    ///
    /// With a `revoke` closure, the token is revoked beside that. With one, or with an ``HTTPCache`` or a
    /// ``CookieJar`` on a disk, a session that has not been loaded yet is loaded first.
    public func signOut() async {
        // Otherwise it is not known what to revoke, or what to remove. What cannot be loaded is neither.
        if revocation != nil || live.isKeptBeyondProcess { await sync.startLoading(for: self)?.completion() }
        if change({ $0.signOut() }) { await saveCurrent() }
    }

    /// Signs out if the token belongs to the current session. Otherwise does nothing, so a late discovery that a token
    /// is invalid does not end the session of another user.
    public func signOut(of token: Token) async {
        if live.knows(token) { await signOut() }
    }

    /// Loads the saved session, if that is necessary and possible.
    func load() async { await sync.startLoading(for: self)?.completion() }

    /// Returns a token that is valid now, and refreshes it if necessary. Within the leeway it returns the current
    /// token, and a refresh runs in parallel.
    ///
    /// Throws `.signInRequired` without a session. A canceled waiter leaves at once; the refresh continues. Inside the
    /// `refresh` closure, where it would wait for itself, it throws `.invalidRequest` instead.
    public func token() async throws(ServiceError) -> Token {
        try await token(of: session(), in: CallScope())
    }

    /// Returns the token to use after the server has refused `rejected`: the current one if the token was replaced
    /// since, otherwise a new one.
    public func replacement(for rejected: Token) async throws(ServiceError) -> Token {
        let session = try await session()
        guard live.knows(rejected) else { throw .sessionExpired(SessionExpiry(.otherSession)) }
        return try await token(of: session, insteadOf: rejected.accessToken, in: CallScope())
    }

    /// Waits until nothing of the session is being changed or saved: neither a refresh, nor a sign-in or a sign-out.
    /// After a sign-out it also waits until the responses and the cookies of the session are removed from the disk.
    ///
    /// Call it before the program ends, after `shutdown()` of the clients that use the store or refresh its token, so
    /// that nothing new begins: otherwise a token that the server has just replaced may be lost. It takes no longer
    /// than the store's `refreshTimeout` and saving take, and again the `refreshTimeout` if the disk of an
    /// ``HTTPCache`` or a ``CookieJar`` does not respond. A refresh that waits for the end of its delay after a failure
    /// has sent nothing, and is not waited for.
    ///
    /// It also waits in a canceled task, because programs often end in one. Inside the `refresh` closure it returns at
    /// once.
    public func waitUntilSaved() async {
        guard !isRefreshingHere else { return }
        // Reentrancy: what begins during one wait is waited for in the next.
        while true {
            if let saving = sync.pending ?? revocation?.pending {
                await saving.opened()
            } else if let refresh = live.refresh, lastRefresh?.isPausing != true {
                await refresh.completion()
            } else {
                break
            }
        }
        await live.waitUntilRemoved(within: refreshTimeout)
    }

    // MARK: For the layers

    /// Whether the server replaces tokens.
    nonisolated var isRefreshable: Bool { exchange != nil }

    /// Whether the current task is a refresh of this store: then signing would wait for itself.
    nonisolated var isRefreshingHere: Bool { Self.refreshing?.isUnderWay(of: self) ?? false }

    /// The current session, if it is known without a wait.
    nonisolated var presentSession: UUID? { live.id }

    /// Whether the next process knows the session. Otherwise what belongs to it stays in memory (K7, J5).
    nonisolated var outlivesProcess: Bool { storage.outlivesProcess }

    /// Returns the session of a call that begins now, after its first token has been obtained if the store does that
    /// (T19).
    nonisolated func session() async throws(ServiceError) -> UUID {
        if let presentSession { return presentSession }
        try await sync.startLoading(for: self)?.value()
        if let presentSession { return presentSession }
        guard let first = try await obtainToken() else { throw .signInRequired }
        do throws(ServiceError) {
            _ = try await arrival(of: first, in: CallScope())
        } catch {
            // A user may have signed in while it waited.
            guard let presentSession else { throw error }
            return presentSession
        }
        // It may have ended by now.
        guard let presentSession else { throw .sessionExpired(SessionExpiry(.signedOut)) }
        return presentSession
    }

    /// Returns a token of that session that is valid now. If the server has refused `rejected`, it is another one. It
    /// does not wait for the actor while the token is valid.
    nonisolated func token(
        of session: UUID, insteadOf rejected: String? = nil, in scope: CallScope
    ) async throws(ServiceError) -> Token {
        if let rejected { live.refuse(rejected, of: session) }
        switch live.status(of: session, rejecting: rejected) {
        case .good(let token): return token
        case .ended(let expiry): throw .sessionExpired(expiry)
        case .beingReplaced(let promise): return try await arrival(of: promise, in: scope)
        case .aging(let token):
            if live.mayRefreshBeside(session) { await refreshBeside(session) }
            return token
        case .expired: return try await arrival(of: startRefresh(of: session, rejecting: rejected), in: scope)
        }
    }

    /// Notes that a server has accepted a token, as clients of the store do: a later refusal is no sign that new tokens
    /// do not help (T3).
    package nonisolated func noteAccepted(_ token: Token) { live.accept(token.accessToken) }

    private nonisolated func arrival(
        of promise: LiveSession.Refresh, in scope: CallScope
    ) async throws(ServiceError) -> Token {
        guard promise.outcome != nil || !isRefreshingHere else {
            throw .badSetting("the refresh of a token store requires a fresh token from the same store")
        }
        return try await promise.value(in: scope)
    }

    // MARK: Starting a refresh

    /// Returns the refresh of that session, for a call that needs its result: the one under way, or a new one.
    func startRefresh(
        of id: UUID, rejecting rejected: String? = nil
    ) throws(ServiceError) -> LiveSession.Refresh {
        // Another call may have refreshed the token before this one entered the actor (T2).
        switch live.status(of: id, rejecting: rejected) {
        case .good(let token), .aging(let token): return .completed(token)
        case .beingReplaced(let promise): return promise
        case .ended(let expiry): throw .sessionExpired(expiry)
        case .expired:
            let promise = LiveSession.Refresh()
            change { $0.startRefresh(promise, of: id) }
            return promise
        }
    }

    /// Returns the refresh that obtains the first token of a session (T19): the one under way, or a new one; `nil` if a
    /// user has to sign in.
    private func obtainToken() throws(ServiceError) -> LiveSession.Refresh? {
        exchange?.obtainsTokens == true ? try startRefresh(of: live.awaitToken()) : nil
    }

    /// Starts a refresh for later calls, if the pace allows one now.
    func refreshBeside(_ id: UUID) {
        // Another call may have refreshed the token before this one entered the actor (T2).
        switch live.status(of: id) {
        case .good, .beingReplaced, .ended: return
        case .aging, .expired: break
        }
        let now = time.now
        change { $0.startRefreshBeside(Promise(), of: id, at: now) }
    }

    /// Continues the session with a token that came after its refresh was given up. Another refresh takes it, which
    /// saves it before any call uses it (T14). If the session has ended, the token is discarded (T6).
    @inline(never)
    func takeLate(_ token: Token, of session: SavedSession) {
        if case .ended = live.status(of: session.id) {
            change { $0.discard(token, of: session.id) }
            return
        }
        exchange?.keep(token, of: session)
        change { $0.startRefresh(Promise(), late: session) }
    }

    // MARK: Transitions

    /// Performs a transition and carries out its actions. Returns whether the caller has to save the session: it
    /// decides when, because saving takes time.
    @discardableResult
    func change(_ transition: (inout State) -> [State.Action]) -> Bool {
        carryOut(live.perform(transition))
    }

    /// Not inlined: the compiler makes a copy of `change` for each transition.
    @inline(never)
    private func carryOut(_ actions: [State.Action]) -> Bool {
        var mustSave = false
        for action in actions {
            switch action {
            case .start(let promise, let instant):
                let refresh = SessionRefresh(
                    promise, of: live, in: storage, by: exchange, within: refreshTimeout, time: time)
                refresh.start(notBefore: instant, on: self)
                lastRefresh = refresh
            case .cancelRefresh:
                // The sooner it ends, the sooner the lock on a shared file is free.
                lastRefresh?.cancel()
                lastRefresh = nil
            case .resume(let promise, let outcome): promise.complete(outcome)
            case .send(let event): send(event)
            case .save: mustSave = true
            case .revoke(let token): revocation?.start(token, of: self)
            }
        }
        return mustSave
    }

    /// Sends an event to all listeners.
    nonisolated func send(_ event: TokenEvent) {
        broadcast.send(event)
    }

    /// Reports that what is saved could not be read, locked or written.
    nonisolated func report(_ error: TokenPersistenceError) {
        send(.notSaved(error))
    }

    /// What revokes the tokens that a refresh of that session still brings; `nil` if they are not revoked.
    nonisolated func revocation(of session: SavedSession) -> TokenRevocation? {
        live.mustRevoke(tokensOf: session.id) ? revocation : nil
    }

    // MARK: Loading and saving

    /// Saves the session that is current when the save begins, so that the last of several changes is saved.
    private func saveCurrent() async {
        sync.listen(for: self)
        let saved = sync.saveCurrent(of: self)
        // A refresh that signs in or out has the access that the save waits for. A canceled caller does not wait
        // either.
        if !isRefreshingHere { try? await saved.opened(in: CallScope()) }
    }

    /// Compares the session with what is saved, for the task that has the access.
    func lookAgain() async { await sync.lookAgain(for: self) }

    deinit {
        broadcast.finish()
    }
}
