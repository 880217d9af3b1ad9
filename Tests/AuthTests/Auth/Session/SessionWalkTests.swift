@testable import Errand
import ErrandTestSupport
import Foundation
import Testing

@Suite("The session as a value: random walks")
struct SessionWalkTests {
    @Test(
        "T1-T11, T15, T20: random events in any order break no invariant",
        arguments: UInt64(0)..<(LongRun.isWanted ? 50 : 15))
    func walk(seed: UInt64) {
        var walk = SessionWalk(seed: seed)
        for _ in 0..<2400 { walk.step() }
        #expect(walk.violations.isEmpty, "seed \(seed): \(walk.violations.prefix(3))")
        // A walk that makes no progress proves nothing.
        #expect(walk.completed > 20 && walk.ended > 20, "seed \(seed): \(walk.completed), \(walk.ended)")
    }
}

/// Reports events to a session, sensible or not, and checks the few invariants that always hold.
private struct SessionWalk {
    private typealias State = SessionState<Int>

    private(set) var violations: [String] = []
    private(set) var completed = 0
    private(set) var ended = 0
    private var random: SeededRandom
    private var state = State(leeway: 60, revokes: true)
    private var now = Instant.zero
    private var date = Date(timeIntervalSince1970: 1_000_000_000)
    /// All sessions so far, the latest last.
    private var sessions: [SavedSession] = []
    /// The number of the latest refresh.
    private var latest = 0
    /// The refresh that calls wait for, and the session that it began with.
    private var running: (refresh: Int, session: UUID)?
    /// The session that was signed out last.
    private var signedOut: UUID?
    /// Whether the last event was a change elsewhere.
    private var hasLearnt = false
    /// The saved session, as far as this process and another one agree on it.
    private var disk: SavedSession?

    init(seed: UInt64) {
        random = SeededRandom(seed)
    }

    mutating func step() {
        let seconds = random.int(0...40)
        now = now.advanced(by: .seconds(seconds))
        date.addTimeInterval(Double(seconds))
        let before = state
        hasLearnt = false
        let actions = event()
        carryOut(actions)
        check(before, actions)
    }

    private mutating func event() -> [State.Action] {
        if state.session == nil, random.chance(80) { return state.signIn(newSession()) }
        let id = anySession().id
        // Usually the running refresh, and sometimes one that is over.
        let refresh = random.chance(80) ? running?.refresh ?? latest : random.int(0...latest)
        switch random.int(0...15) {
        case 0: return random.chance(50) ? state.signIn(newSession()) : []
        case 1:
            guard random.chance(30) else { return [] }
            signedOut = state.session?.id ?? signedOut
            return state.signOut()
        case 2: state.load(disk)
        case 3: state.accept(anySession().token.accessToken)
        case 4: state.refuse(anySession().token.accessToken, of: id, at: now)
        case 5: state.refuseReplay(with: anySession().token.accessToken, of: "GET /x", at: now)
        case 6, 7:
            latest += 1
            return state.startRefresh(latest, of: id)
        case 8:
            latest += 1
            return state.startRefreshBeside(latest, of: id, at: now)
        case 9: return state.checkCap(of: refresh, at: now)
        case 10: return state.fail(refresh, with: .reset, at: now, random: 0.5)
        case 11: return state.end(refresh, ofRevision: random.int(0...20), because: SessionExpiry(.refreshRefused))
        case 12: return state.find(anyFile(), by: refresh, at: date)
        case 13: return failure(of: refresh)
        case 14:
            hasLearnt = true
            return random.chance(90)
                ? state.learn(anyFile(), at: date) : state.failLearning(TokenPersistenceError(.damaged, "random"))
        default:
            guard let session = state.session(for: refresh) else {
                return state.complete(refresh, with: anySession(), at: now)
            }
            return state.complete(refresh, with: next(session), at: now)
        }
        return []
    }

    private mutating func failure(of refresh: Int) -> [State.Action] {
        let kind = TokenPersistenceError.Kind.allCases.randomElement(using: &random) ?? .other
        let error = TokenPersistenceError(kind, "random")
        guard random.chance(50) else { return state.failLocking(error, by: refresh, at: now, random: 0.5) }
        return state.failReading(error, by: refresh, isAlone: random.chance(50), at: now, random: 0.5)
    }

    /// Carries out the store's actions, and records those that make no sense.
    private mutating func carryOut(_ actions: [State.Action]) {
        for action in actions {
            switch action {
            case .start(let refresh, _):
                if running != nil { note("T1: a second refresh") }
                running = state.session.map { (refresh, $0.id) }
            case .cancelRefresh:
                if running == nil { note("there is no refresh to cancel") }
            case .resume(let refresh, let outcome):
                if running?.refresh != refresh { note("no call waits for refresh \(refresh)") }
                if case .success(let token) = outcome {
                    completed += 1
                    if running?.session != state.session?.id { note("T7: the new token is of another session") }
                    if state.session?.token != token { note("the new token is not the session's") }
                }
                running = nil
            case .send(.expired):
                ended += 1
                if state.session != nil { note("T8: the session goes on") }
            case .save:
                disk = state.session
                if random.chance(90) { state.noteSaved(state.session) }
            case .revoke(let token):
                if state.session.map({ token.accessToken.hasPrefix($0.id.uuidString) }) ?? false {
                    note("T6: a token of the current session is revoked")
                }
            case .send: break
            }
        }
        if let session = state.session, session != sessions.last { sessions.append(session) }
    }

    private mutating func check(_ before: State, _ actions: [State.Action]) {
        if state.refresh != running?.refresh { note("refresh \(String(describing: state.refresh)) was not reported") }
        if let old = before.session, let new = state.session, old.id == new.id {
            if new.revision < old.revision { note("T15: an older revision") }
            if new != old, before.refresh == nil, !hasLearnt { note("T1: a new token without a refresh") }
        }
        if hasLearnt, before.session == nil, let id = state.session?.id, id == signedOut {
            note("T20: a session that was signed out has come back")
        }
        if before.session?.id != state.session?.id, before.session?.id != nil, !actions.tellsOfAChange {
            note("T6, T7: the session changed without an event")
        }
        for session in sessions.suffix(10) {
            switch state.status(of: session.id, at: date) {
            case .ended: if session.id == state.session?.id { note("the session has ended") }
            case .good(let token), .aging(let token):
                if token.accessToken.prefix(36) != session.id.uuidString { note("T7: the token of another session") }
            case .expired: if running != nil { note("T1: a second refresh is asked for") }
            case .beingReplaced(let refresh): if running?.refresh != refresh { note("a wait without an end") }
            }
        }
    }

    /// Returns a current or an earlier session, with one of its tokens.
    private mutating func anySession() -> SavedSession {
        if let session = state.session, random.chance(70) { return session }
        return sessions.suffix(10).randomElement(using: &random) ?? newSession()
    }

    /// Returns what a shared file may contain by now.
    private mutating func anyFile() -> SavedSession? {
        switch random.int(0...9) {
        case 0: nil
        case 1: newSession()
        case 2...4: state.session.map { next($0) }
        default: disk
        }
    }

    private mutating func newSession() -> SavedSession {
        session(UUID(), revision: 0)
    }

    private mutating func next(_ session: SavedSession) -> SavedSession {
        self.session(session.id, revision: session.revision + 1)
    }

    private mutating func session(_ id: UUID, revision: Int) -> SavedSession {
        let lifetime = Double(random.int(-10...300))
        let token = Token(
            accessToken: "\(id.uuidString).\(revision).\(random.int(0...1))", expiry: date.addingTimeInterval(lifetime))
        return SavedSession(id: id, revision: revision, token: token, received: date)
    }

    private mutating func note(_ violation: String) { violations.append(violation) }
}

extension [SessionState<Int>.Action] {
    /// Whether the actions report another session, or none, to the listeners.
    fileprivate var tellsOfAChange: Bool {
        contains { action in
            switch action {
            case .send(.signedIn), .send(.signedOut), .send(.expired): true
            default: false
            }
        }
    }
}
