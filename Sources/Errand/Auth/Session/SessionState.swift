#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The session of a token store as a value: its states, and the transitions between them.
///
/// It has no clock, no tasks, no lock and no storage. `TokenStore` calls a transition for each thing that happens, with
/// the time at which it happens, and carries out the actions that the transition returns. The transitions for what
/// other processes do to the saved session are in an extension of their own. No other code sets its properties.
///
/// To a call, its session is in one of these states:
///
/// - signed out: no user is signed in, so a new call has no session and fails.
/// - good: the call uses the token.
/// - aging: the token expires soon. The call uses it, and the store starts a refresh for later calls (T11).
/// - expired, or of no use because it cannot be sent: the call starts a refresh and waits for it (T1).
/// - refused: the server has responded with 401 to the token. The call that received it starts a refresh and waits for
///   it (T1). Until that refresh is under way, other calls use the token.
/// - being replaced: a refresh is under way, and the token has expired or was refused: the call waits (T1). While the
///   token is good, calls go on using it.
/// - ended: the user has signed out, somebody else has signed in, or the server has refused to refresh the token. The
///   call fails (T6, T7, T8).
///
/// A transition that reports on a refresh names it. If that refresh is not the one under way, its session has ended and
/// the transition changes nothing. So no result of an ended session is ever used (T6, T7).
///
/// Four rules are kept elsewhere: `Latch` lets a canceled waiter leave (T4), `SavedSession` keeps a refresh token
/// that was not replaced (T10), and the layers let a refresh go first (T13) and say which responses are about the
/// token (T16).
///
/// `Refresh` identifies a refresh. The store uses what its callers wait for, which is only compared here.
struct SessionState<Refresh: Equatable & Sendable>: Sendable {
    typealias History = SessionHistory<Refresh>

    /// How many seconds before its expiry a token is aging.
    private let leeway: Double
    /// Whether the tokens of a session that was signed out are revoked.
    private let revokes: Bool
    /// Whether the saved session has been read, or has been made obsolete by a sign-in or a sign-out.
    private(set) var isLoaded = false
    /// The session of the user who is signed in, or one whose first token is awaited.
    var session: SavedSession?
    var history = History()
    /// The sessions that have ended.
    private(set) var past = PastSessions()

    /// Creates a state in which no user is signed in and the saved session has not been read.
    init(leeway: Double, revokes: Bool = false) {
        self.leeway = leeway
        self.revokes = revokes
    }

    /// The session of the user who is signed in.
    var current: SavedSession? { history.awaitsToken ? nil : session }

    /// Whether the session is known to be saved.
    var isSaved: Bool { session != nil && history.isSaved }

    /// What a save has to find, so that it replaces nothing but what this process knows; `nil` if that is not known.
    var savedVersion: SavedSession.Version? {
        guard isSaved, let session, let revision = history.savedRevision else { return nil }
        return SavedSession.Version(id: session.id, revision: revision)
    }

    /// The refresh under way.
    var refresh: Refresh? { history.refresh }

    /// Whether there is a session, and it is not one whose first token is still awaited.
    var hasToken: Bool { session != nil && !history.awaitsToken }

    /// The access tokens of the session that were replaced.
    var replaced: [String] { history.replaced }

    /// Whether the session has, or had, that token.
    func knows(_ token: Token) -> Bool {
        session?.token.accessToken == token.accessToken || history.replaced.contains(token.accessToken)
    }

    // MARK: What a call sees

    /// Returns what a call of that session can do (T1, T11).
    // Each send asks this. If the function is not inlined, the compiler copies the whole state for it.
    @inline(__always)
    func status(of id: UUID, at date: Date) -> Status {
        guard let session, session.id == id else {
            if let expiry = past.expiry(of: id) { return .ended(expiry) }
            return .ended(SessionExpiry(session == nil ? .signedOut : .otherSession))
        }
        if let refresh, history.refused == session.token.accessToken { return .beingReplaced(refresh) }
        // It cannot be sent. The next one may be.
        if session.token.isMisfit { return history.refresh.map { .beingReplaced($0) } ?? .expired }
        guard let expiry = session.token.expiry else { return .good(session.token) }
        // A new token that had expired when it was received means that the clocks differ, and says nothing about the
        // token. The next one would be expired as well, so this one is used until the server refuses it (T12).
        if session.revision > 0, expiry <= session.received { return .good(session.token) }
        guard date < expiry else { return history.refresh.map { .beingReplaced($0) } ?? .expired }
        // A token that lives shorter than the leeway would always be inside it, and be refreshed by every call (T12).
        let leeway = min(leeway, expiry.timeIntervalSince(session.received) / 2)
        guard date >= expiry.addingTimeInterval(-leeway) else { return .good(session.token) }
        return history.refresh == nil ? .aging(session.token) : .good(session.token)
    }

    /// Returns what a call of that session can do after the server has responded with 401 to `rejected`: for this call,
    /// that token has expired (T1). If it was replaced since, the call can use the current one (T2).
    func status(of id: UUID, at date: Date, rejecting rejected: String) -> Status {
        guard let session, session.id == id, session.token.accessToken == rejected else {
            return status(of: id, at: date)
        }
        return history.refresh.map { .beingReplaced($0) } ?? .expired
    }

    // MARK: Beginning and ending a session

    /// Takes over the session that was saved, unless a user has signed in or out since.
    mutating func load(_ saved: SavedSession?) {
        guard !isLoaded else { return }
        isLoaded = true
        session = saved
        history.noteFound(saved)
    }

    /// Begins a session. The one before ends, and the result of its refresh is discarded (T7).
    mutating func signIn(_ session: SavedSession) -> [Action] {
        let cancel = cancellation
        return cancel + replaceSession(with: session, because: SessionExpiry(.otherSession)) + [
            .send(.signedIn), .save,
        ]
    }

    /// Begins a session whose first token the store obtains by a refresh, unless there is a session (T19). Returns the
    /// session that there is then.
    mutating func awaitToken(_ awaited: SavedSession) -> UUID {
        if let session { return session.id }
        session = awaited
        history = History()
        history.awaitsToken = true
        return awaited.id
    }

    /// Ends the session, and the result of its refresh is discarded, or revoked like its token (T6).
    mutating func signOut() -> [Action] {
        let cancel = cancellation
        var revocation: [Action] = []
        if revokes, let session {
            past.addSignedOut(session.id)
            if !history.awaitsToken { revocation = [.revoke(session.token)] }
        }
        // Until the saved session has been read, there may be one.
        let event: [Action] = isLoaded && current == nil ? [] : [.send(.signedOut)]
        return cancel + replaceSession(with: nil, because: SessionExpiry(.signedOut)) + event + [.save]
            + revocation
    }

    /// Whether what a refresh of that session still brings has to be revoked, because the user has signed out of it
    /// here. Not after a sign-out elsewhere, which revokes by itself, and not after another user's sign-in: some
    /// servers would end the new session, too.
    func mustRevoke(tokensOf id: UUID) -> Bool { past.hasSignedOut(id) }

    /// Discards a token that a refresh has brought after its session had ended (T6, T7).
    func discard(_ token: Token, of id: UUID) -> [Action] {
        mustRevoke(tokensOf: id) ? [.revoke(token)] : []
    }

    /// Notes that a session was saved, or removed.
    mutating func noteSaved(_ session: SavedSession?) {
        // Another user may be signed in by now, whose session is not saved yet (T7).
        if self.session?.id == session?.id { history.noteFound(session) }
    }

    var cancellation: [Action] { history.refresh == nil ? [] : [.cancelRefresh] }

    /// Ends the session, if there is one, and begins the next. Calls that wait for a refresh fail with `expiry`.
    mutating func replaceSession(
        with next: SavedSession?, isSaved: Bool = false, because expiry: SessionExpiry
    ) -> [Action] {
        let refresh = history.refresh
        if let session { past.add(session.version, because: expiry) }
        isLoaded = true
        session = next
        history = History()
        if isSaved { history.noteFound(next) }
        return refresh.map { [.resume($0, .failure(.sessionExpired(expiry)))] } ?? []
    }

    // MARK: The server's answers to calls

    /// Notes that the server has accepted a token: a later refusal is no sign that new tokens do not help (T3).
    mutating func accept(_ access: String) {
        // Most often it is the token that was accepted last: to compare it is cheaper than to keep it again.
        guard history.accepted != access, session?.token.accessToken == access else { return }
        history.accepted = access
        history.pace.accepted(access)
    }

    /// Notes that the server has refused a token. Nothing changes if the token was replaced already (T2). A refused new
    /// token counts against the cap, unless another request with it was accepted (T3).
    mutating func refuse(_ access: String, of id: UUID, at now: Instant) {
        guard let session, session.id == id, session.token.accessToken == access else { return }
        history.refused = access
        if history.accepted != access { history.pace.refused(access, at: now) }
    }

    /// Notes that an endpoint has refused a token in a replay, just after another one was refused. It counts against
    /// the cap of that endpoint, and like any other refusal against that of the session (T3).
    mutating func refuseReplay(with access: String, of place: String, at now: Instant) {
        history.refusedPlaces.note(place, access, at: now)
        if history.accepted != access { history.pace.refused(access, at: now) }
    }

    /// Whether a call to that endpoint may have the token replaced after a 401, and be sent again (T3). What was
    /// replaced already costs nothing (T2), and if the server refuses all new tokens, the refresh says so.
    func mayReplay(to place: String, insteadOf access: String, at now: Instant) -> Bool {
        session?.token.accessToken != access || history.refresh != nil || !history.pace.mayRefresh(at: now)
            || history.refusedPlaces.mayReplay(at: place, now)
    }

    /// Whether the server has refused refreshes without a word before, for some time, so that one more ends the session
    /// (T21).
    func isRefusedWithoutWords(at now: Instant) -> Bool {
        guard history.muteRefusals.count >= 2, let first = history.muteRefusals.first else { return false }
        return first.duration(to: now) >= Self.muteTime
    }

    /// A proxy that does not work is mended, or says more, before that.
    private static var muteTime: Duration { .seconds(60) }

    // MARK: A refresh

    /// Starts a refresh for calls that wait for it, unless one is under way: however many calls there are, one refresh
    /// runs (T1). After a failure it waits for the end of the backoff (T9).
    mutating func startRefresh(_ refresh: Refresh, of id: UUID) -> [Action] {
        guard session?.id == id, history.refresh == nil else { return [] }
        history.refresh = refresh
        return [.start(refresh, notBefore: history.pace.notBefore)]
    }

    /// Whether a refresh for later calls may start (T11): none is under way, the last did not fail a moment ago (T9)
    /// and new tokens are not being refused (T3).
    func mayRefreshBeside(_ id: UUID, at now: Instant) -> Bool {
        session?.id == id && history.refresh == nil && history.pace.mayStart(at: now)
    }

    /// Starts a refresh for later calls while the token is good, if one may start.
    mutating func startRefreshBeside(_ refresh: Refresh, of id: UUID, at now: Instant) -> [Action] {
        mayRefreshBeside(id, at: now) ? startRefresh(refresh, of: id) : []
    }

    /// Starts a refresh for a token that has come after its own refresh was given up (T17), unless the session was
    /// refreshed since, or is another one. The server has just replaced a token, so there is no reason to wait.
    mutating func startRefresh(_ refresh: Refresh, late session: SavedSession) -> [Action] {
        guard let current = self.session, current.id == session.id, current.revision == session.revision else {
            return []
        }
        history.pace.recovered()
        return startRefresh(refresh, of: session.id)
    }

    /// The session to refresh; `nil` if that refresh is not under way any more, and has nothing left to do (T6, T7).
    func session(for refresh: Refresh) -> SavedSession? {
        history.refresh == refresh ? session : nil
    }

    /// Ends a refresh before it asks the server if the server has refused five new tokens within 30 seconds. The
    /// session is kept (T3).
    mutating func checkCap(of refresh: Refresh, at now: Instant) -> [Action] {
        guard session(for: refresh) != nil, !history.pace.mayRefresh(at: now) else { return [] }
        return finish(refresh, with: .failure(.sessionExpired(SessionExpiry(.tooManyRefreshes))))
    }

    /// Takes the new token that a refresh has brought. By now it has been saved (T14), even if no call waits for it any
    /// more (T5).
    mutating func complete(_ refresh: Refresh, with newer: SavedSession, at now: Instant) -> [Action] {
        guard session(for: refresh) != nil else { return discard(newer.token, of: newer.id) }
        history.pace.succeeded(with: newer.token, at: now)
        // One that cannot be sent is like one that is refused.
        if newer.token.isMisfit { history.pace.refused(newer.token.accessToken, at: now) }
        history.muteRefusals = []
        let event = history.awaitsToken ? TokenEvent.signedIn : .refreshed
        adopt(newer)
        return finish(refresh, with: .success(newer.token)) + [.send(event)]
    }

    /// Keeps the token after a refresh that failed in passing; the next one waits for a backoff (T9).
    mutating func fail(
        _ refresh: Refresh, with error: ServiceError, at now: Instant, random: Double
    ) -> [Action] {
        guard session(for: refresh) != nil else { return [] }
        history.pace.failed(at: now, random: random)
        if error.isMuteRefusal { history.noteMuteRefusal(at: now) } else { history.muteRefusals = [] }
        return finish(refresh, with: .failure(error))
    }

    /// Ends a refresh that has reached its limit like one that has failed in passing, and leaves its closure behind
    /// (T17).
    mutating func giveUp(
        _ refresh: Refresh, with error: ServiceError, at now: Instant, random: Double
    ) -> [Action] {
        let actions = fail(refresh, with: error, at: now, random: random)
        return actions.isEmpty ? [] : actions + [.cancelRefresh]
    }

    /// Ends the session because the server has refused to refresh that revision of it, or refreshes none (T8), unless
    /// another process has saved a newer revision (T15).
    mutating func end(_ refresh: Refresh, ofRevision revision: Int, because expiry: SessionExpiry) -> [Action] {
        guard let session = session(for: refresh), session.revision <= revision else { return [] }
        return replaceSession(with: nil, because: expiry) + [.send(.expired(expiry)), .save]
    }

    mutating func finish(_ refresh: Refresh, with outcome: Result<Token, ServiceError>) -> [Action] {
        history.refresh = nil
        return [.resume(refresh, outcome)]
    }

    mutating func adopt(_ newer: SavedSession) {
        if let session { history.noteReplaced(session.token) }
        session = newer
    }
}
