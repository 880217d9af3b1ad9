@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("A process that hangs while it holds the lock")
struct HungProcessTests {
    private let scratch: Scratch
    private let file: FileTokenPersistence
    private let clock = TestClock()
    private let server: AuthServer

    init() throws {
        scratch = try Scratch()
        file = FileTokenPersistence(path: scratch.path("session"), lockTimeout: .milliseconds(100))
        server = AuthServer(clock, lifetime: .seconds(600), takes: .zero)
    }

    @Test(
        "T9: a refresh fails temporarily with an error that says why; a token that is still valid is used",
        .timeLimit(.minutes(10)))
    func refresh() async throws {
        let tokens = store()
        let old = server.signIn("ann")
        await tokens.signIn(old)
        let events = tokens.events
        let hung = try await hang()
        let error = await failure { () async throws(ServiceError) in try await tokens.replacement(for: old) }
        guard case .transport(let failure) = error else { throw try #require(error) }
        #expect(failure.kind == .storage && failure.message.contains(scratch.path("session.lock")))
        #expect(error?.isTransient == true && error?.mayHaveReachedServer == false)
        #expect(try await tokens.token() == old)
        guard case .notSaved(let problem) = await first(1, of: events).first else {
            Issue.record("another event")
            return
        }
        #expect(problem.kind == .locked)
        hung.kill()
        _ = try await hung.end()
        await clock.advance(by: .seconds(60))
        let newer = try await tokens.replacement(for: old)
        #expect(newer.accessToken == "ann.1")
        #expect(server.refreshes == ["refresh.ann.0"], "nothing was refreshed without the lock")
    }

    @Test(
        "signing in and out changes the session in memory and returns; a failed save is reported",
        .timeLimit(.minutes(10)))
    func signInAndOut() async throws {
        let tokens = store()
        await tokens.signIn(server.signIn("ann"))
        let events = tokens.events
        let hung = try await hang()
        await tokens.signIn(server.signIn("bo"))
        #expect(try await tokens.token().accessToken == "bo.0")
        await tokens.signOut()
        #expect(await tokens.isSignedIn == false)
        let reported = await first(4, of: events).map { event in
            if case .notSaved(let error) = event { "not saved: \(error.kind)" } else { "\(event)" }
        }
        #expect(reported == ["signedIn", "not saved: locked", "signedOut", "not saved: locked"])
        #expect(try await file.load()?.token.accessToken == "ann.0", "no process writes without the lock")
        hung.kill()
        _ = try await hung.end()
        await tokens.signOut()
        #expect(try await file.load() == nil)
    }

    @Test("a session that was never saved belongs to this process: it is refreshed in memory", .timeLimit(.minutes(10)))
    func unsaved() async throws {
        let tokens = store()
        let hung = try await hang()
        let old = server.signIn("ann")
        await tokens.signIn(old)
        let newer = try await tokens.replacement(for: old)
        #expect(newer.accessToken == "ann.1")
        #expect(try await file.load() == nil)
        hung.kill()
        _ = try await hung.end()
        _ = try await tokens.replacement(for: newer)
        #expect(try await file.load()?.token.accessToken == "ann.2")
    }

    @Test("signing in returns when it is cancelled, and the token is saved nevertheless", .timeLimit(.minutes(10)))
    func cancelled() async throws {
        let patient = FileTokenPersistence(path: scratch.path("session"), lockTimeout: .seconds(50))
        let tokens = TokenStore(persistence: patient) { $0 }
        let hung = try await hang()
        let signIn = Task { await tokens.signIn(Token(accessToken: "a")) }
        signIn.cancel()
        await signIn.value
        #expect(try await tokens.token().accessToken == "a")
        #expect(try await file.load() == nil)
        hung.kill()
        _ = try await hung.end()
        // Waits in the queue after the save above.
        await tokens.signIn(Token(accessToken: "b"))
        #expect(try await file.load()?.token.accessToken == "b")
    }

    @Test("a session that a process saved before it hung is used, though it holds the lock", .timeLimit(.minutes(10)))
    func savedBefore() async throws {
        let (here, there) = (store(), store())
        let old = server.signIn("ann")
        await here.signIn(old)
        #expect(try await there.token() == old)
        let newer = try await here.replacement(for: old)
        let hung = try await hang()
        #expect(try await there.replacement(for: old) == newer)
        hung.kill()
        _ = try await hung.end()
    }

    private func store() -> TokenStore {
        let server = server
        return TokenStore(persistence: file, time: clock) { try await server.refresh($0) }
    }

    private func hang() async throws -> Child {
        let child = try Child("hold", scratch.path("session"))
        try await child.firstWord()
        return child
    }
}
