@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("A refresh that does not come back", .timeLimit(.minutes(10)))
struct RefreshTimeoutTests {
    private let clock = TestClock()
    /// Ends the closure that hangs; it ignores its cancellation.
    private let hung = Promise<Token, ServiceError>()
    private let runs = Noted(0)
    private let old = Token(accessToken: "old", refreshToken: "r")

    /// Returns a store whose first refresh hangs, and whose others take a second.
    private func store(
        _ persistence: any TokenPersistence = .memory, timeout: Duration = .seconds(60)
    ) -> TokenStore {
        TokenStore(persistence: persistence, refreshTimeout: timeout, time: clock) { [clock, hung, runs] _ in
            runs.update { $0 += 1 }
            if runs.value == 1 {
                await hung.completion()
                if let token = try hung.outcome?.get() { return token }
            }
            try await clock.sleep(for: .seconds(1))
            return Token(accessToken: "new \(runs.value)", refreshToken: "r2")
        }
    }

    /// The end of a call that fails.
    private struct End: Equatable {
        var error: ServiceError?
        var after: Duration

        /// It has waited for a refresh up to its limit.
        static func timedOut(_ limit: Duration = .seconds(60)) -> End {
            End(error: .timedOut(Timeout(.refresh, limit: limit, phase: .waitingForToken)), after: limit)
        }
    }

    /// Begins a call that needs another token than the old one.
    private func replacing(_ tokens: TokenStore) -> Task<End, Never> {
        Task(executorPreference: clock.executor) { [old, clock] in
            let start = clock.now
            let error = await failure { () async throws(ServiceError) in try await tokens.replacement(for: old) }
            return End(error: error, after: start.duration(to: clock.now))
        }
    }

    @Test(
        "T17: calls that wait for a closure that hangs fail at the limit; the session stays, the next call refreshes",
        arguments: [nil, 5])
    func hangs(seconds: Int?) async throws {
        let limit = Duration.seconds(seconds ?? 60)
        let tokens = seconds == nil ? store() : store(timeout: limit)
        try await clock.runTest {
            await tokens.signIn(old)
            let calls = [replacing(tokens), replacing(tokens)]
            for call in calls { #expect(await ends(call, within: .seconds(61), on: clock) == .timedOut(limit)) }
            #expect(hung.waiting > 0, "the closure still hangs")
            #expect(await tokens.isSignedIn)
            // Its access has ended: neither a save nor the next refresh waits for the closure.
            let next = try await tokens.replacement(for: old)
            #expect(next.accessToken == "new 2")
            hung.complete(.failure(.reset))
        }
    }

    @Test("T17: a closure that asks its own client in a detached task waits for itself, up to the limit")
    func detached() async throws {
        let (network, later) = (scripted(), Later())
        let tokens = TokenStore(time: clock) { [clock] _ in
            let detached = Task.detached(executorPreference: clock.executor) { try await later.client().run(.me) }
            return Token(accessToken: try await detached.value)
        }
        let client = testClient(network, clock) { $0.tokens = tokens }
        later.set(client)
        try await clock.runTest {
            await tokens.signIn(Token(accessToken: "old", expiry: clock.date))
            let call = Task(executorPreference: clock.executor) {
                await failure { () async throws(ServiceError) in try await client.run(.me) }
            }
            #expect(await ends(call, within: .seconds(61), on: clock) == End.timedOut().error)
            #expect(await tokens.isSignedIn)
        }
        #expect(network.sent.isEmpty)
        await client.shutdown()
    }

    @Test("T17: at the limit the closure's task is cancelled, which ends its call")
    func callEnds() async throws {
        let (network, clock) = (scripted(), clock)
        network.on(.post, "/token", .silence)
        let login = testClient(network, clock) { $0.timeout = .seconds(600) }
        let tokens = TokenStore(time: clock) { _ in Token(accessToken: try await login.run(.post("token"))) }
        try await clock.runTest {
            await tokens.signIn(old)
            let call = replacing(tokens)
            #expect(await ends(call, within: .seconds(61), on: clock) == .timedOut())
            var activity = login.activity.makeAsyncIterator()
            #expect(await activity.next() == 0)
        }
    }

    @Test("T17: a token that comes after the limit is saved and used, because the server may have rotated")
    func late() async throws {
        let disk = MemoryTokenPersistence()
        let tokens = store(disk)
        let events = tokens.events
        try await clock.runTest {
            await tokens.signIn(old)
            #expect(await ends(replacing(tokens), within: .seconds(61), on: clock) == .timedOut())
            hung.complete(.success(Token(accessToken: "late", refreshToken: "rotated")))
            try await clock.sleep(for: .seconds(1))
            #expect(disk.load()?.token.refreshToken == "rotated")
            let token = try await tokens.replacement(for: old)
            #expect(token.accessToken == "late")
            #expect(await first(2, of: events) == [.signedIn, .refreshed])
        }
        #expect(runs.value == 1)
    }

    @Test(
        "T17: a token that comes too late changes nothing", arguments: ["another refresh", "sign-out", "another user"])
    func tooLate(after change: String) async throws {
        let disk = MemoryTokenPersistence()
        let tokens = store(disk)
        try await clock.runTest {
            await tokens.signIn(old)
            #expect(await ends(replacing(tokens), within: .seconds(61), on: clock) == .timedOut())
            switch change {
            case "sign-out": await tokens.signOut()
            case "another user": await tokens.signIn(Token(accessToken: "bo"))
            default: _ = try await tokens.replacement(for: old)
            }
            let before = disk.load()
            hung.complete(.success(Token(accessToken: "late", refreshToken: "rotated")))
            try await clock.sleep(for: .seconds(1))
            #expect(disk.load() == before)
            #expect(tokens.live.current == before)
        }
    }

    @Test("T17: a token that cannot be saved by the limit is used all the same, and that is reported")
    func saveHangs() async throws {
        let disk = HungSaves()
        let tokens = TokenStore(persistence: disk, time: clock) { _ in Token(accessToken: "new", refreshToken: "r2") }
        let events = tokens.events
        try await clock.runTest {
            await tokens.signIn(old)
            disk.hangs.value = true
            let call = Task(executorPreference: clock.executor) { try? await tokens.replacement(for: old).accessToken }
            #expect(await ends(call, within: .seconds(61), on: clock) == "new")
            let problem = TokenPersistenceError(.other, "the session could not be saved within 60 s")
            #expect(await first(3, of: events) == [.signedIn, .notSaved(problem), .refreshed])
            // When the disk is back, the session is saved after all.
            disk.back.open()
            await tokens.waitUntilSaved()
            #expect(disk.saved.load()?.token.accessToken == "new")
        }
    }

    @Test("T6: signing out does not wait for a closure that hangs", arguments: [true, false])
    func signsOut(signsIn: Bool) async throws {
        let disk = MemoryTokenPersistence()
        let tokens = store(disk)
        try await clock.runTest {
            await tokens.signIn(old)
            let call = replacing(tokens)
            try await clock.sleep(for: .seconds(1))
            let change = Task(executorPreference: clock.executor) {
                if signsIn { await tokens.signIn(Token(accessToken: "bo")) } else { await tokens.signOut() }
                return clock.elapsed
            }
            #expect(await ends(change, on: clock) == .seconds(1))
            #expect(await call.value.error?.reason == (signsIn ? .otherSession : .signedOut))
            #expect(disk.load()?.token.accessToken == (signsIn ? "bo" : nil))
            hung.complete(.failure(.reset))
        }
    }
}

/// A persistence whose saves hang while it is told so.
private final class HungSaves: TokenPersistence {
    let saved = MemoryTokenPersistence()
    let hangs = Noted(false)
    let back = Latch()

    func load() -> SavedSession? { saved.load() }

    func save(_ session: SavedSession?) async {
        if hangs.value { await back.opened() }
        saved.save(session)
    }
}
