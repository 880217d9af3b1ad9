#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
import Synchronization

/// Holds the access token of one signed-in user and sees to it that it is refreshed once, however many calls need it.
///
///     let tokens = TokenStore(persistence: .file("/var/lib/app/session")) { old in
///         try await login.run(.refresh(old)).token
///     }
///     let client = APIClient("https://api.example.com") { $0.tokens = tokens }
///
/// A call is bound to the session that is there when it begins: it is never sent with the token of another user. A
/// refresh belongs to the store and not to the call that met the expired token: callers come and go, the refresh
/// ends, and its result is saved before anybody goes on with it. A call made inside the `refresh` closure is not
/// signed by this store and goes to the head of its limiter's line, so a refresh waits neither for itself nor for
/// those who wait for it.
public actor TokenStore {
    /// How a new token is had for an old one.
    public typealias Refresh = @Sendable (Token) async throws -> Token
    typealias State = SessionState<Flight<Token, ServiceError>>

    let persistence: any TokenPersistence
    let time: any TimeSource
    /// How a new token is had; `nil` where the server replaces none.
    nonisolated let refresh: Refresh?
    let broadcast = Broadcast<TokenEvent>()
    /// The session. It is behind a lock, so that a call with a valid token takes no turn on the actor.
    nonisolated let state: Lock<State>

    private var refreshTask: Task<Void, Never>?
    private var loading: Flight<Void, ServiceError>?
    /// The saving that waits for its turn: it will save whatever the session is then.
    private var coming: Flight<Void, ServiceError>?
    private var lastTurn: Flight<Void, ServiceError>?

    /// Makes a store. What `persistence` has saved is read when the first call needs it.
    ///
    /// - Parameters:
    ///   - persistence: Where the session is kept.
    ///   - leeway: How long before its expiry a token is replaced, beside the calls that still use it. Of a token
    ///     that lives shorter than twice this, it is half the lifetime.
    ///   - time: The clock.
    ///   - refresh: Has a new token for an old one. An answer of 400 or 401 means that the session is over; any other
    ///     failure is passing.
    public init(
        persistence: any TokenPersistence = .memory, leeway: Duration = .seconds(60), time: any TimeSource = .system,
        refresh: @escaping Refresh
    ) {
        self.persistence = persistence
        self.time = time
        self.refresh = refresh
        state = Lock(State(leeway: max(leeway, .zero).inSeconds))
    }

    /// Makes a store of tokens that the server does not replace, for servers without refresh tokens. A 401 is the
    /// answer of the call then; the app signs the user out if it means that. A token after its expiry ends the session.
    public init(persistence: any TokenPersistence = .memory, time: any TimeSource = .system) {
        self.persistence = persistence
        self.time = time
        refresh = nil
        state = Lock(State(leeway: 0))
    }

    /// What happens to the session from now on; ends with the store. Each listener gets all events.
    public nonisolated var events: AsyncStream<TokenEvent> {
        broadcast.stream(keeping: .unbounded)
    }

    /// Begins a session with that token. A session that was there before is over, calls of it get `.sessionExpired`.
    ///
    /// Returns when the token has been saved. If it cannot be, because the disk is full or another process does not
    /// give back its lock on a shared file, the user is signed in all the same, and `events` tells why. Returns at once
    /// if the task is cancelled; the token is saved nevertheless. Inside the `refresh` closure it returns at once: the
    /// token is saved when the refresh is over.
    public func signIn(_ token: Token) async {
        let session = SavedSession(id: time.randomUUID(), token: token, received: time.date)
        if change({ $0.signIn(session) }) { await saveCurrent() }
    }

    /// Ends the session at once, and returns when what was saved of it is gone. Calls of it that wait for a token get
    /// `.sessionExpired`. If what was saved cannot be removed, `events` tells why: the next start may sign the user in
    /// again. Returns at once if the task is cancelled; what was saved is removed nevertheless. Inside the `refresh`
    /// closure it does not wait: the saving takes its turn after the refresh.
    public func signOut() async {
        if change({ $0.signOut() }) { await saveCurrent() }
    }

    /// Ends the session if that token is of it. Does nothing if another session has begun since the token was had:
    /// whoever finds out late that a token is no good ends nobody else's session by this.
    public func signOut(of token: Token) async {
        if state.withLock({ $0.knows(token) }) { await signOut() }
    }

    /// Whether a user is signed in. Reads what is saved, if that has not been done yet.
    public var isSignedIn: Bool {
        get async {
            // Whatever keeps the session from being read, nobody is signed in. That the caller has been cancelled does
            // not: nobody is signed out by it.
            await startLoading()?.landed()
            return presentSession != nil
        }
    }

    /// A token that is good now; refreshes it when it must. Inside the leeway it is the present one, and a refresh
    /// runs beside.
    ///
    /// Fails with `.signInRequired` without a session. A cancelled waiter leaves at once, the refresh goes on. Inside
    /// the `refresh` closure, where it would wait for itself, it fails with `.invalidRequest` instead.
    public func token() async throws(ServiceError) -> Token {
        try await token(of: session(), in: CallScope())
    }

    /// The token to go on with after the server has refused `rejected`: the present one if it was replaced meanwhile,
    /// otherwise a new one.
    public func replacement(for rejected: Token) async throws(ServiceError) -> Token {
        let session = try await session()
        guard state.withLock({ $0.knows(rejected) }) else { throw .sessionExpired(SessionExpiry(.otherSession)) }
        return try await token(of: session, insteadOf: rejected.access, in: CallScope())
    }

    // MARK: For the layer that signs

    /// The session that is there, if that is known without a wait.
    nonisolated var presentSession: UUID? { state.withLock { $0.session?.id } }

    /// The session that a call beginning now belongs to.
    nonisolated func session() async throws(ServiceError) -> UUID {
        if let presentSession { return presentSession }
        try await load()
        guard let presentSession else { throw .signInRequired }
        return presentSession
    }

    /// The token that the session has now, and whether it is about to expire; `nil` if a token has to be waited for.
    nonisolated func currentToken(of session: UUID) throws(ServiceError) -> (token: Token, isAging: Bool)? {
        let date = time.date
        return switch state.withLock({ $0.status(of: session, at: date) }) {
        case .good(let token): (token, false)
        case .aging(let token): (token, true)
        case .ended(let expiry): throw .sessionExpired(expiry)
        case .beingReplaced, .expired: nil
        }
    }

    /// A token of that session that is good now. If the server has refused `rejected`, it is another one.
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
            await refreshBeside(session)
            return token
        case .expired: return try await arrival(of: startRefresh(of: session, rejecting: rejected), in: scope)
        }
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

    /// Makes a transition and carries out its actions. Returns whether the caller has to save the session: it decides
    /// when, because saving takes time.
    @discardableResult
    func change(_ transition: (inout State) -> [State.Action]) -> Bool {
        var mustSave = false
        for action in state.withLock(transition) {
            switch action {
            case .start(let flight, let instant):
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

    // MARK: Loading

    private func load() async throws(ServiceError) {
        try await startLoading()?.value()
    }

    /// The reading of what was saved: the one under way, or a new one; `nil` if it has been read.
    private func startLoading() -> Flight<Void, ServiceError>? {
        if state.withLock({ $0.isLoaded }) { return nil }
        if let loading { return loading }
        let flight = Flight<Void, ServiceError>()
        loading = flight
        // The store owns the task: whoever asked first may leave, and the others still get what it reads.
        Task(executorPreference: time.executor) { await self.performLoad(landing: flight) }
        return flight
    }

    private func performLoad(landing flight: Flight<Void, ServiceError>) async {
        let turn = await nextTurn()
        let outcome: Result<SavedSession?, TokenPersistenceError>
        do {
            outcome = .success(try await storage { try await $0.load() })
        } catch {
            outcome = .failure(TokenPersistenceError(error))
        }
        end(turn)
        // Reentrancy: if somebody has signed in while it was read, the state ignores what was read.
        loading = nil
        switch outcome {
        case .success(let session):
            state.withLock { $0.load(session) }
            flight.land(.success(()))
        case .failure(let error):
            // Where there has never been a folder, nobody has ever signed in.
            if error.kind == .missingFolder {
                state.withLock { $0.load(nil) }
                flight.land(.success(()))
                return
            }
            broadcast.send(.notSaved(error))
            // What was kept aside is not there any more; the next call finds that nobody is signed in.
            if error.isKeptAside { state.withLock { $0.load(nil) } }
            flight.land(.failure(.sessionExpired(SessionExpiry(.unreadable, message: error.message))))
        }
    }

    /// Uses the persistence off the actor: file work blocks its thread, and a call that needs the store must not wait
    /// for a disk.
    @concurrent
    nonisolated func storage<Value: Sendable>(
        _ use: @Sendable (any TokenPersistence) async throws -> Value
    ) async throws -> Value {
        try await use(persistence)
    }

    // MARK: Saving

    /// Waits until nobody else in this process is using the persistence. That is all a mere look needs: another
    /// process replaces what is saved as a whole.
    func nextTurn() async -> Flight<Void, ServiceError> {
        let previous = lastTurn
        let mine = Flight<Void, ServiceError>()
        lastTurn = mine
        await previous?.landed()
        return mine
    }

    func end(_ turn: Flight<Void, ServiceError>) {
        turn.land(.success(()))
        if lastTurn === turn { lastTurn = nil }
    }

    /// Saves what the session is when the turn comes, so that of several changes the last is what stays.
    private func saveCurrent() async {
        let saved = coming ?? startSaving()
        // A refresh that signs out, or in, has the turn that the saving waits for. Whoever is cancelled does not wait
        // either.
        if !isRefreshingHere { _ = try? await saved.value() }
    }

    private func startSaving() -> Flight<Void, ServiceError> {
        let saved = Flight<Void, ServiceError>()
        coming = saved
        // Owned by the store: a session is saved, or removed, even if the task that signs in or out is cancelled.
        Task(executorPreference: time.executor) { await self.takeTurn(toSave: saved) }
        return saved
    }

    private func takeTurn(toSave saved: Flight<Void, ServiceError>) async {
        let turn = await nextTurn()
        do {
            try await storage { try await $0.exclusively { await self.performSave() } }
        } catch {
            // Not without the lock: what another process is writing could be mixed up with it.
            if coming === saved { coming = nil }
            broadcast.send(.notSaved(TokenPersistenceError(error)))
        }
        end(turn)
        saved.land(.success(()))
    }

    private func performSave() async {
        // Whoever changes the session from here on needs another saving.
        coming = nil
        let session = state.withLock { $0.session }
        if await save(session) || session == nil { return }
        // What is saved still is the session of somebody else, who must not be signed in by the next start. If it
        // cannot be removed either, that it could not be saved has been told already.
        try? await storage { try await $0.save(nil) }
    }

    /// Saves the session, or removes what is saved; says whether that could be done.
    @discardableResult
    func save(_ session: SavedSession?) async -> Bool {
        do {
            try await storage { try await $0.save(session) }
            // Reentrancy: if somebody else has signed in meanwhile, the state ignores it.
            if let session { state.withLock { $0.noteSaved(session) } }
            return true
        } catch {
            broadcast.send(.notSaved(TokenPersistenceError(error)))
            return false
        }
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
