import Errand
import ErrandFleet
import ErrandSimulation
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("Sessions in a store that fails", .timeLimit(.minutes(10))) struct TroubledSaveTests {
    private let clock = TestClock()
    private let scene: SessionScene

    init() throws {
        scene = try SessionScene(time: clock)
    }

    private func session(_ revision: Int, id: UUID) -> SavedSession {
        let token = Token(accessToken: "access.\(revision)", refreshToken: "refresh.\(revision)")
        return SavedSession(id: id, revision: revision, token: token, received: clock.date)
    }

    @Test(
        "T14, F6: a new token is saved, whatever error the store, or a proxy before it, has answered with",
        arguments: [.damaged, .other, .refused, .full, .unreachable, .cancelled] as [FleetStoreError.Kind])
    func savedAgain(kind: FleetStoreError.Kind) async throws {
        let id = UUID()
        try await clock.run {
            try await scene.sessions().save(session(0, id: id))
            for (round, isMade) in [false, true].enumerated() {
                let store = FaultyStore(scene.store)
                store.failReads(kind)
                store.failWrites(.error(kind, isMade: isMade))
                let old = session(round, id: id)
                let isSaved = try await scene.sessions(in: store).replace(old.version, with: session(round + 1, id: id))
                #expect(isSaved)
                let found = try await scene.sessions().load()
                #expect(found?.revision == round + 1)
            }
        }
        #expect(clock.elapsed < .seconds(5))
    }

    @Test("F6: a write that is repeated on the way is the node's own: the token is saved, and no mark is waited for")
    func repeated() async throws {
        let id = UUID()
        try await clock.run {
            try await scene.sessions().save(session(0, id: id))
            let store = FaultyStore(scene.store)
            let sessions = scene.sessions(in: store)
            store.failWrites(.repeatWrite, .repeatWrite, .repeatWrite, .repeatWrite)
            #expect(try await sessions.replace(session(0, id: id).version, with: session(1, id: id)))
            #expect(try await scene.sessions().load()?.revision == 1)
            let wasHeld = Noted(false)
            store.failWrites(.repeatWrite)
            try await sessions.exclusively { lock in wasHeld.value = lock.loss == nil }
            #expect(wasHeld.value)
            // Nobody knows whether it was made.
            store.failWrites(.repeatWrite)
            store.cutAfterNextWrite()
            #expect(await sessionProblem { try await sessions.exclusively { _ in } } == .unreachable)
            store.cut(false)
            wasHeld.value = false
            try await sessions.exclusively { lock in wasHeld.value = lock.loss == nil }
            #expect(wasHeld.value)
        }
        #expect(clock.elapsed < .seconds(1))
    }

    @Test("F6: a new token that cannot be saved is an error after two minutes")
    func neverSaved() async throws {
        let id = UUID()
        let store = FaultyStore(scene.store)
        let problem = try await clock.run { () async throws -> TokenPersistenceError.Kind? in
            try await scene.sessions().save(session(0, id: id))
            store.refuse(FleetStoreError(.refused, "the password is wrong"))
            let old = session(0, id: id)
            return await sessionProblem {
                try await scene.sessions(in: store).replace(old.version, with: session(1, id: id))
            }
        }
        #expect(problem == .other)
        #expect(clock.elapsed >= .seconds(120) && clock.elapsed < .seconds(130))
    }

    @Test(
        "a store that refuses the user, or whose record is damaged, is a typed error at once, and no refresh",
        arguments: [(.refused, .other), (.damaged, .unreadable)]
            as [(FleetStoreError.Kind, TokenPersistenceError.Kind)])
    func refused(kind: FleetStoreError.Kind, problem: TokenPersistenceError.Kind) async throws {
        let store = FaultyStore(scene.store)
        let sessions = scene.sessions(in: store)
        let (late, early) = (scene.node(in: store), scene.node(in: store))
        let (problems, first, refresh) = try await clock.run {
            () async throws -> (
                [TokenPersistenceError.Kind?], Result<String, ServiceError>, Result<String, ServiceError>
            ) in
            try await scene.seed()
            _ = try await early.token()
            store.refuse(FleetStoreError(kind, "the password is wrong"))
            let problems = [
                await sessionProblem { try await sessions.load() },
                await sessionProblem { try await sessions.save(nil) },
                await sessionProblem { try await sessions.exclusively { _ in } },
            ]
            let first = await Result { () async throws(ServiceError) in try await late.token().accessToken }
            return (problems, first, await SessionScene.replacement(in: early))
        }
        #expect(problems == [problem, problem, problem])
        #expect(clock.elapsed == .zero)
        guard case .failure(.sessionExpired(let expiry)) = first, case .failure(.transport(let failure)) = refresh
        else {
            Issue.record("\(first), \(refresh)")
            return
        }
        #expect(expiry.reason == .unreadable)
        #expect(expiry.message?.contains("the password is wrong") == true)
        #expect(failure.kind == .storage)
        #expect(scene.server.refreshes == 0 && scene.server.refusals == 0)
    }
}
