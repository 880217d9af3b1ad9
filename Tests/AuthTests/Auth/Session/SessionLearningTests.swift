@testable import Errand
import ErrandTestSupport
import Foundation
import Testing

/// What the state does when the saved session has changed elsewhere.
@Suite("T20: the session as a value learns of changes elsewhere")
struct SessionLearningTests {
    private typealias State = SessionState<Int>

    private let date = Date(timeIntervalSince1970: 1_000_000_000)
    private let ann: SavedSession
    private let bob: SavedSession

    init() {
        ann = SavedSession(id: UUID(), token: Token(accessToken: "ann.0"), received: date)
        bob = SavedSession(id: UUID(), token: Token(accessToken: "bob.0"), received: date)
    }

    private func newer(_ revision: Int, age: Double = 0) -> SavedSession {
        let token = Token(accessToken: "ann.\(revision)", expiry: date.addingTimeInterval(3600 - age))
        return SavedSession(
            id: ann.id, revision: revision, token: token, received: date.addingTimeInterval(-age))
    }

    /// A state in which Ann is signed in, and that is saved.
    private var saved: State {
        var state = State(leeway: 60)
        state.load(ann)
        return state
    }

    /// A state in which no user is signed in, and that is saved.
    private var signedOut: State {
        var state = State(leeway: 60)
        state.load(nil)
        return state
    }

    @Test("a newer revision is taken over, an older one is not, and the save after it compares with what was found")
    func revisions() {
        var state = saved
        #expect(state.learn(newer(2), at: date) == [.send(.refreshed)])
        #expect(state.session == newer(2))
        #expect(state.learn(newer(1), at: date) == [])
        #expect(state.session == newer(2))
        #expect(state.savedVersion == newer(1).version)
        #expect(state.learn(newer(2), at: date) == [])
        #expect(state.savedVersion == newer(2).version)
    }

    @Test("calls that wait for a refresh continue with a newer token, unless it has expired as well")
    func waiting() {
        var state = saved
        _ = state.startRefresh(1, of: ann.id)
        #expect(state.learn(newer(1, age: 3600), at: date) == [])
        #expect(state.refresh == 1)
        let token = newer(2).token
        #expect(state.learn(newer(2), at: date) == [.cancelRefresh, .resume(1, .success(token)), .send(.refreshed)])
        #expect(state.refresh == nil)
    }

    @Test("a sign-out or another sign-in elsewhere ends the session, and the refresh under way")
    func ended() {
        var state = saved
        _ = state.startRefresh(1, of: ann.id)
        let expiry = SessionExpiry.endedElsewhere
        #expect(
            state.learn(nil, at: date) == [
                .cancelRefresh, .resume(1, .failure(.sessionExpired(expiry))), .send(.signedOut),
            ])
        #expect(expiry.description.contains("the server has refused"), "it is not known which of them")
        #expect(state.status(of: ann.id, at: date) == .ended(expiry))
        state = saved
        #expect(state.learn(bob, at: date) == [.send(.signedIn)])
        #expect(state.status(of: ann.id, at: date) == .ended(SessionExpiry(.otherSession)))
        #expect(state.session == bob)
    }

    @Test("a sign-in elsewhere is taken over where no user is signed in")
    func signedIn() {
        var state = signedOut
        #expect(state.learn(nil, at: date) == [])
        #expect(state.learn(bob, at: date) == [.send(.signedIn)])
        #expect(state.session == bob)
        #expect(state.savedVersion == bob.version)
    }

    @Test("what was found means nothing before the saved session is loaded, and while a change is still to be saved")
    func pending() {
        var state = State(leeway: 60)
        #expect(state.learn(ann, at: date) == [])
        state = saved
        _ = state.signOut()
        #expect(state.learn(ann, at: date) == [], "the sign-out is not saved yet")
        #expect(state.learn(bob, at: date) == [])
        state.noteSaved(nil)
        #expect(state.learn(ann, at: date) == [], "a session that was signed out does not come back")
        #expect(state.learn(newer(9), at: date) == [])
        #expect(state.learn(bob, at: date) == [.send(.signedIn)])
        _ = state.signIn(ann)
        #expect(state.learn(nil, at: date) == [], "the sign-in is not saved yet")
    }

    @Test("a session whose refresh was refused comes back with a newer revision, which another process has saved")
    func refused() {
        var state = saved
        _ = state.startRefresh(1, of: ann.id)
        _ = state.end(1, ofRevision: 0, because: SessionExpiry(.refreshRefused))
        state.noteSaved(nil)
        #expect(state.learn(ann, at: date) == [])
        #expect(state.learn(newer(1), at: date) == [.send(.signedIn)])
        #expect(state.status(of: ann.id, at: date) == .good(newer(1).token))
    }

    @Test("what cannot be read signs no user out; a file that was kept aside is missing from now on")
    func unreadable() {
        var state = saved
        let torn = TokenPersistenceError(.unreadable, "torn")
        #expect(state.failLearning(torn) == [.send(.notSaved(torn))])
        #expect(state.isSaved)
        #expect(state.savedVersion == nil)
        let damaged = TokenPersistenceError(.damaged, "damaged")
        #expect(state.failLearning(damaged) == [.send(.notSaved(damaged))])
        #expect(state.learn(nil, at: date) == [], "no user has signed out")
    }
}
