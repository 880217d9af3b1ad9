@testable import Errand
import ErrandTestSupport
import Foundation
import Testing

@Suite("The session as a value")
struct SessionStateTests {
    @Test("each event in each state: the next state, and the store's actions", arguments: transitions)
    func transition(_ row: Transition) {
        var state = row.start
        let actions = row.event(&state)
        #expect(actions == row.actions)
        #expect(state.status(of: ann.id, at: date) == row.status)
        #expect(state.session == row.session)
        #expect(state.isSaved == row.isSaved)
    }

    @Test("T3: five refused new tokens end a refresh before it asks the server; the session and the others stay")
    func cap() {
        var state = refused(tokens: 4)
        #expect(state.startRefresh(9, of: ann.id) == [.start(9, notBefore: .zero)])
        #expect(state.checkCap(of: 9, at: .zero) == [])
        state = refused(tokens: 5)
        #expect(state.startRefreshBeside(9, of: ann.id, at: .zero) == [])
        #expect(state.startRefresh(9, of: ann.id) == [.start(9, notBefore: .zero)])
        let expiry = SessionExpiry(.tooManyRefreshes)
        #expect(state.checkCap(of: 8, at: .zero) == [])
        #expect(state.checkCap(of: 9, at: .zero) == [.resume(9, .failure(.sessionExpired(expiry)))])
        #expect(state.refresh == nil)
        #expect(state.session?.id == ann.id)
    }

    @Test("T3: a new token that is accepted, before or after it was refused, does not count, also in a replay")
    func accepted() {
        #expect(!refused(tokens: 5, accepting: true).isCapped)
        #expect(refused(tokens: 5).isCapped)
        var state = refused(tokens: 4)
        var newest = newToken(&state, 5)
        state.accept(newest.accessToken)
        state.refuseReplay(with: newest.accessToken, of: "GET /x", at: .zero)
        #expect(!state.isCapped)
        newest = newToken(&state, 6)
        for _ in 0..<2 { state.refuseReplay(with: newest.accessToken, of: "GET /x", at: .zero) }
        #expect(state.isCapped)
        state.accept(newest.accessToken)
        #expect(!state.isCapped)
    }

    @Test("T9: a failed refresh delays the next, and keeps a background refresh from starting")
    func backoff() {
        var state = State.aging.refreshing
        _ = state.fail(1, with: .reset, at: .zero, random: 0.5)
        let instant = Instant.zero.advanced(by: .milliseconds(100))
        #expect(state.startRefreshBeside(2, of: ann.id, at: .zero) == [])
        #expect(state.startRefreshBeside(2, of: ann.id, at: instant) == [.start(2, notBefore: instant)])
    }

    /// Returns a state after that many new tokens that the server has refused.
    private func refused(tokens: Int, accepting: Bool = false) -> State {
        var state = State.good
        for number in 1...tokens {
            let token = newToken(&state, number)
            if accepting { state.accept(token.accessToken) }
            state.refuse(token.accessToken, of: ann.id, at: .zero)
        }
        return state
    }

    private func newToken(_ state: inout State, _ number: Int) -> Token {
        let session = SavedSession(
            id: ann.id, revision: number, token: Token(accessToken: "ann.\(number)"), received: date)
        _ = state.startRefresh(number, of: ann.id)
        _ = state.complete(number, with: session, at: .zero)
        return session.token
    }
}

/// One row of the table.
struct Transition: Sendable, CustomTestStringConvertible {
    let name: String
    let start: SessionState<Int>
    let event: @Sendable (inout SessionState<Int>) -> [SessionState<Int>.Action]
    let status: SessionState<Int>.Status
    let session: SavedSession?
    let isSaved: Bool
    let actions: [SessionState<Int>.Action]

    var testDescription: String { name }

    /// The event happens in the state `start`, and leaves the calls of Ann in the state `status`.
    fileprivate init(
        _ name: String, _ start: State, _ event: @escaping @Sendable (inout State) -> [State.Action],
        _ status: State.Status, of session: SavedSession? = nil, isSaved: Bool = false, _ actions: State.Action...
    ) {
        self.name = name
        self.start = start
        self.event = event
        self.status = status
        self.session = session
        self.isSaved = isSaved
        self.actions = actions
    }
}

private typealias State = SessionState<Int>

private let date = Date(timeIntervalSince1970: 1_000_000_000)
private let ann = saved(UUID(), "ann.0")
private let bob = saved(UUID(), "bob.0")
private let newer = saved(ann.id, "ann.1", revision: 1)
private let agingAnn = saved(ann.id, "ann.0", age: 3570)
private let oldAnn = saved(ann.id, "ann.0", age: 3600)
private let newerButExpired = saved(ann.id, "ann.1", revision: 1, age: 3600)
/// The clock is two hours ahead of the server's, which has issued the token a minute ago, for an hour.
private let newerByOtherClock = SavedSession(
    id: ann.id, revision: 1,
    token: Token(accessToken: "ann.1", refreshToken: "r", expiry: date.addingTimeInterval(-3660)),
    received: date.addingTimeInterval(-60))

/// Returns a session whose token is valid for an hour.
private func saved(_ id: UUID, _ access: String, revision: Int = 0, age: Double = 0) -> SavedSession {
    let received = date.addingTimeInterval(-age)
    let token = Token(accessToken: access, refreshToken: "r", expiry: received.addingTimeInterval(3600))
    return SavedSession(id: id, revision: revision, token: token, received: received)
}

extension SessionState<Int> {
    fileprivate static var unread: Self { Self(leeway: 60) }
    fileprivate static var nobody: Self { unread.after { $0.load(nil) } }
    fileprivate static var good: Self { unread.after { _ = $0.signIn(ann) } }
    fileprivate static var aging: Self { unread.after { _ = $0.signIn(agingAnn) } }
    fileprivate static var expired: Self { unread.after { _ = $0.signIn(oldAnn) } }
    fileprivate static var refused: Self { good.after { $0.refuse(ann.token.accessToken, of: ann.id, at: .zero) } }
    /// Calls wait for refresh 1.
    fileprivate static var beingReplaced: Self { expired.refreshing }
    /// The same, and the session is saved.
    fileprivate static var savedAndReplaced: Self { beingReplaced.after { $0.noteSaved(oldAnn) } }
    fileprivate static var ended: Self { good.after { _ = $0.signOut() } }
    fileprivate static var bobs: Self { good.after { _ = $0.signIn(bob) } }
    /// Refresh 1 (Ann) has not returned yet, and refresh 2 (Bob) is running.
    fileprivate static var bobsRefresh: Self {
        beingReplaced.after {
            _ = $0.signIn(bob)
            _ = $0.startRefresh(2, of: bob.id)
        }
    }

    fileprivate var refreshing: Self { after { _ = $0.startRefresh(1, of: ann.id) } }

    fileprivate func after(_ change: (inout Self) -> Void) -> Self {
        var state = self
        change(&state)
        return state
    }

    /// Whether the limit on refreshes would refuse the next one.
    fileprivate var isCapped: Bool {
        var state = self
        _ = state.startRefresh(99, of: ann.id)
        return !state.checkCap(of: 99, at: .zero).isEmpty
    }
}

private let signedOut = SessionExpiry(.signedOut)
private let otherSession = SessionExpiry(.otherSession)
private let refreshRefused = SessionExpiry(.refreshRefused, message: "invalid_grant", status: 400)
private let missing = TokenPersistenceError(.missingFolder, "no folder")
private let damaged = TokenPersistenceError(.damaged, "damaged")
private let unreadable = TokenPersistenceError(.unreadable, "unreadable")
private let locked = TokenPersistenceError(.locked, "locked")

private func storage(_ error: TokenPersistenceError) -> ServiceError {
    .transport(TransportFailure(.storage, error.message))
}

private func failed(_ expiry: SessionExpiry) -> Result<Token, ServiceError> { .failure(.sessionExpired(expiry)) }

private let transitions = lookups + signIns + answers + refreshes + lateTokens + results + readings

/// Returns an event without any actions for the store.
private func noting(
    _ note: @escaping @Sendable (inout State) -> Void
) -> @Sendable (inout State) -> [State.Action] {
    { state in
        note(&state)
        return []
    }
}

/// What a call sees in each state, without an event.
private let lookups: [Transition] = [
    Transition("signed out: a call has no session", .nobody, { _ in [] }, .ended(signedOut)),
    Transition("good: a call uses the token", .good, { _ in [] }, .good(ann.token), of: ann),
    Transition(
        "T11: aging: a call uses the token, and starts a refresh", .aging, { _ in [] },
        .aging(agingAnn.token), of: agingAnn),
    Transition(
        "T11: while a refresh runs, the aging token is good", .aging.refreshing, { _ in [] },
        .good(agingAnn.token), of: agingAnn),
    Transition("T1: expired: a call starts a refresh", .expired, { _ in [] }, .expired, of: oldAnn),
    Transition(
        "refused: until a refresh is under way, other calls use the token", .refused, { _ in [] },
        .good(ann.token), of: ann),
    Transition("T1: being replaced: a call waits", .beingReplaced, { _ in [] }, .beingReplaced(1), of: oldAnn),
    Transition("T6: ended by a sign-out", .ended, { _ in [] }, .ended(signedOut)),
    Transition("T7: ended by another session", .bobs, { _ in [] }, .ended(otherSession), of: bob),
]

private let signIns: [Transition] = [
    Transition(
        "what was saved is the session", .unread, noting { $0.load(ann) }, .good(ann.token), of: ann,
        isSaved: true),
    Transition("what was saved comes after a sign-in", .good, noting { $0.load(bob) }, .good(ann.token), of: ann),
    Transition("what was saved comes after a sign-out", .ended, noting { $0.load(ann) }, .ended(signedOut)),
    Transition("sign-in", .nobody, { $0.signIn(ann) }, .good(ann.token), of: ann, .send(.signedIn), .save),
    Transition(
        "T7: another user signs in", .good, { $0.signIn(bob) }, .ended(otherSession), of: bob,
        .send(.signedIn), .save),
    Transition(
        "T7: another user signs in during a refresh", .savedAndReplaced, { $0.signIn(bob) },
        .ended(otherSession), of: bob,
        .cancelRefresh, .resume(1, failed(otherSession)), .send(.signedIn), .save),
    Transition("sign-out", .good, { $0.signOut() }, .ended(signedOut), .send(.signedOut), .save),
    Transition(
        "T6: sign-out during a refresh", .beingReplaced, { $0.signOut() }, .ended(signedOut),
        .cancelRefresh, .resume(1, failed(signedOut)), .send(.signedOut), .save),
    Transition(
        "sign-out before anybody has looked whether a session is saved", .unread, { $0.signOut() },
        .ended(signedOut), .send(.signedOut), .save),
    Transition(
        "sign-out when no user is signed in is not reported", .nobody, { $0.signOut() }, .ended(signedOut),
        .save),
    Transition(
        "the session is saved", .good, noting { $0.noteSaved(ann) }, .good(ann.token), of: ann,
        isSaved: true),
    Transition(
        "T7: the session before was saved late", .bobs, noting { $0.noteSaved(ann) },
        .ended(otherSession), of: bob),
]

private let answers: [Transition] = [
    Transition(
        "T1: a 401 with the token of the session, while a refresh runs beside", .good.refreshing,
        noting { $0.refuse(ann.token.accessToken, of: ann.id, at: .zero) }, .beingReplaced(1), of: ann),
    Transition(
        "T2: a 401 with a token that was replaced",
        .beingReplaced.after { _ = $0.complete(1, with: newer, at: .zero) }.after {
            _ = $0.startRefresh(2, of: ann.id)
        },
        noting { $0.refuse(ann.token.accessToken, of: ann.id, at: .zero) }, .good(newer.token), of: newer),
    Transition(
        "T7: a 401 of a call of the session before", .good.refreshing,
        noting { $0.refuse(ann.token.accessToken, of: bob.id, at: .zero) }, .good(ann.token), of: ann),
]

private let refreshes: [Transition] = [
    Transition(
        "T1: the first call starts a refresh", .expired, { $0.startRefresh(1, of: ann.id) },
        .beingReplaced(1), of: oldAnn, .start(1, notBefore: .zero)),
    Transition(
        "T1: the second call starts none", .beingReplaced, { $0.startRefresh(2, of: ann.id) },
        .beingReplaced(1), of: oldAnn),
    Transition(
        "T1: a refused token is being replaced once a refresh is under way", .refused,
        { $0.startRefresh(1, of: ann.id) }, .beingReplaced(1), of: ann, .start(1, notBefore: .zero)),
    Transition(
        "T7: a call of the session before starts none", .bobs, { $0.startRefresh(1, of: ann.id) },
        .ended(otherSession), of: bob),
    Transition(
        "T6: a call of a session that has ended starts none", .ended, { $0.startRefresh(1, of: ann.id) },
        .ended(signedOut)),
    Transition(
        "T11: an aging token starts a refresh beside", .aging,
        { $0.startRefreshBeside(1, of: ann.id, at: .zero) }, .good(agingAnn.token), of: agingAnn,
        .start(1, notBefore: .zero)),
    Transition(
        "T11: a second one starts none", .aging.refreshing,
        { $0.startRefreshBeside(2, of: ann.id, at: .zero) }, .good(agingAnn.token), of: agingAnn),
    Transition(
        "T7: nor does one for another session", .bobs, { $0.startRefreshBeside(1, of: ann.id, at: .zero) },
        .ended(otherSession), of: bob),
]

private let lateTokens: [Transition] = [
    Transition(
        "T17: a token comes late: a refresh takes it, without the delay of a failure",
        .beingReplaced.after { _ = $0.fail(1, with: .reset, at: .zero, random: 0.5) },
        { $0.startRefresh(2, late: oldAnn) }, .beingReplaced(2), of: oldAnn, .start(2, notBefore: .zero)),
    Transition(
        "T17: it comes while another refresh is under way, which will take it", .beingReplaced,
        { $0.startRefresh(2, late: oldAnn) }, .beingReplaced(1), of: oldAnn),
    Transition(
        "T17: it comes after another refresh",
        .beingReplaced.after { _ = $0.complete(1, with: newer, at: .zero) },
        { $0.startRefresh(2, late: oldAnn) }, .good(newer.token), of: newer),
    Transition(
        "T7: it comes after somebody else's sign-in", .bobs, { $0.startRefresh(2, late: oldAnn) },
        .ended(otherSession), of: bob),
    Transition("T6: it comes after a sign-out", .ended, { $0.startRefresh(2, late: oldAnn) }, .ended(signedOut)),
]

private let results: [Transition] = [
    Transition(
        "T1, T5: the new token is there", .beingReplaced, { $0.complete(1, with: newer, at: .zero) },
        .good(newer.token), of: newer, .resume(1, .success(newer.token)), .send(.refreshed)),
    Transition(
        "T6: it comes after a sign-out", .beingReplaced.after { _ = $0.signOut() },
        { $0.complete(1, with: newer, at: .zero) }, .ended(signedOut)),
    Transition(
        "T7: it comes after somebody else's sign-in", .bobsRefresh,
        { $0.complete(1, with: newer, at: .zero) }, .ended(otherSession), of: bob),
    Transition(
        "T9: it fails in passing", .beingReplaced, { $0.fail(1, with: .reset, at: .zero, random: 0) },
        .expired, of: oldAnn, .resume(1, .failure(.reset))),
    Transition(
        "T7: it fails after somebody else's sign-in", .bobsRefresh,
        { $0.fail(1, with: .reset, at: .zero, random: 0) }, .ended(otherSession), of: bob),
    Transition(
        "T8: it is refused", .savedAndReplaced, { $0.end(1, ofRevision: 0, because: refreshRefused) },
        .ended(refreshRefused), .resume(1, failed(refreshRefused)), .send(.expired(refreshRefused)), .save),
    Transition(
        "T7: it is refused after somebody else's sign-in", .bobsRefresh,
        { $0.end(1, ofRevision: 0, because: refreshRefused) }, .ended(otherSession), of: bob),
    Transition(
        "T15: it is refused, but the file has brought a newer revision",
        .beingReplaced.after { _ = $0.find(newerButExpired, by: 1, at: date) },
        { $0.end(1, ofRevision: 0, because: refreshRefused) }, .beingReplaced(1), of: newerButExpired, isSaved: true),
    Transition(
        "T3: below the cap a refresh goes on", .beingReplaced, { $0.checkCap(of: 1, at: .zero) },
        .beingReplaced(1), of: oldAnn),
]

private let readings: [Transition] = [
    Transition(
        "T15: the same revision, whose save seemed to have failed", .beingReplaced,
        { $0.find(oldAnn, by: 1, at: date) }, .beingReplaced(1), of: oldAnn, isSaved: true),
    Transition(
        "T15: the same revision", .savedAndReplaced, { $0.find(oldAnn, by: 1, at: date) },
        .beingReplaced(1), of: oldAnn, isSaved: true),
    Transition(
        "T15: a newer token that is good", .savedAndReplaced, { $0.find(newer, by: 1, at: date) },
        .good(newer.token), of: newer, isSaved: true, .resume(1, .success(newer.token)), .send(.refreshed)),
    Transition(
        "T15: a newer token that has expired as well", .savedAndReplaced,
        { $0.find(newerButExpired, by: 1, at: date) }, .beingReplaced(1), of: newerButExpired, isSaved: true),
    Transition(
        "T12: a newer token that had expired when it was received, by a clock that is ahead", .savedAndReplaced,
        { $0.find(newerByOtherClock, by: 1, at: date) }, .good(newerByOtherClock.token), of: newerByOtherClock,
        isSaved: true, .resume(1, .success(newerByOtherClock.token)), .send(.refreshed)),
    Transition(
        "T15: another process has signed out", .savedAndReplaced, { $0.find(nil, by: 1, at: date) },
        .ended(.endedElsewhere), .resume(1, failed(.endedElsewhere)), .send(.signedOut)),
    Transition(
        "T15: somebody else has signed in in another process", .savedAndReplaced,
        { $0.find(bob, by: 1, at: date) }, .ended(otherSession), of: bob, isSaved: true,
        .resume(1, failed(otherSession)), .send(.signedIn)),
    Transition(
        "T9: nothing is saved, but this session never was", .beingReplaced, { $0.find(nil, by: 1, at: date) },
        .beingReplaced(1), of: oldAnn),
    Transition(
        "T7: another session is saved, but this one never was", .beingReplaced,
        { $0.find(bob, by: 1, at: date) }, .beingReplaced(1), of: oldAnn),
    Transition(
        "T7: what is read is too late", .bobsRefresh, { $0.find(newer, by: 1, at: date) },
        .ended(otherSession), of: bob),
    Transition(
        "T9: the folder is missing", .savedAndReplaced,
        { $0.failReading(missing, by: 1, isAlone: false, at: .zero, random: 0) }, .expired, of: oldAnn, isSaved: true,
        .send(.notSaved(missing)), .resume(1, .failure(storage(missing)))),
    Transition(
        "the folder is missing where nothing was saved", .beingReplaced,
        { $0.failReading(missing, by: 1, isAlone: false, at: .zero, random: 0) }, .beingReplaced(1), of: oldAnn),
    Transition(
        "T9: a damaged file was kept aside", .savedAndReplaced,
        { $0.failReading(damaged, by: 1, isAlone: false, at: .zero, random: 0) }, .beingReplaced(1), of: oldAnn,
        .send(.notSaved(damaged))),
    Transition(
        "what cannot be read without the lock is read again", .savedAndReplaced,
        { $0.failReading(unreadable, by: 1, isAlone: false, at: .zero, random: 0) }, .beingReplaced(1), of: oldAnn,
        isSaved: true),
    Transition(
        "what cannot be read under the lock is reported", .savedAndReplaced,
        { $0.failReading(unreadable, by: 1, isAlone: true, at: .zero, random: 0) }, .beingReplaced(1), of: oldAnn,
        isSaved: true, .send(.notSaved(unreadable))),
    Transition(
        "T15: a saved session is not refreshed without the lock", .savedAndReplaced,
        { $0.failLocking(locked, by: 1, at: .zero, random: 0) }, .expired, of: oldAnn, isSaved: true,
        .send(.notSaved(locked)), .resume(1, .failure(storage(locked)))),
    Transition(
        "a session that was never saved is refreshed without the lock", .beingReplaced,
        { $0.failLocking(locked, by: 1, at: .zero, random: 0) }, .beingReplaced(1), of: oldAnn,
        .send(.notSaved(locked))),
    Transition(
        "T7: the lock fails after somebody else's sign-in", .bobsRefresh,
        { $0.failLocking(locked, by: 1, at: .zero, random: 0) }, .ended(otherSession), of: bob),
]
