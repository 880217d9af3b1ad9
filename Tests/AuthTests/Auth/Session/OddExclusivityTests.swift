import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("A persistence that breaks its contract", .timeLimit(.minutes(10)))
struct OddExclusivityTests {
    /// A persistence whose `exclusively` does not run its body while it is told so.
    private final class Idle: TokenPersistence {
        let saved = MemoryTokenPersistence()
        let isIdle = Noted(true)

        func load() -> SavedSession? { saved.load() }
        func save(_ session: SavedSession?) { saved.save(session) }
        func exclusively(_ body: @Sendable (SessionLock) async -> Void) async {
            if !isIdle.value { await body(SessionLock()) }
        }
    }

    private static let problem = TokenPersistenceError(.other, "`exclusively` returned without running its body")

    @Test("an `exclusively` that does not run its body is a failed save, and the next change is saved again")
    func save() async throws {
        let (clock, disk) = (TestClock(), Idle())
        let tokens = TokenStore(persistence: disk, time: clock) { $0 }
        let events = tokens.events
        try await clock.runTest {
            await tokens.signIn(Token(accessToken: "ann"))
            #expect(await first(2, of: events) == [.signedIn, .notSaved(Self.problem)])
            disk.isIdle.value = false
            await tokens.signIn(Token(accessToken: "bo"))
            #expect(disk.load()?.token.accessToken == "bo")
        }
    }

    @Test("T9: an `exclusively` that does not run its body fails a refresh, like a lock that cannot be acquired")
    func refresh() async throws {
        let (clock, disk, runs) = (TestClock(), Idle(), Noted(0))
        let tokens = TokenStore(persistence: disk, time: clock) { _ in
            runs.update { $0 += 1 }
            return Token(accessToken: "new")
        }
        try await clock.runTest {
            disk.isIdle.value = false
            let old = Token(accessToken: "ann", refreshToken: "r")
            await tokens.signIn(old)
            disk.isIdle.value = true
            let call = Task(executorPreference: clock.executor) {
                await failure { () async throws(ServiceError) in try await tokens.replacement(for: old) }
            }
            let error = await ends(call, within: .seconds(1), on: clock)
            #expect(error == .transport(TransportFailure(.storage, Self.problem.message)))
            #expect(runs.value == 0, "another process may be refreshing the session")
            disk.isIdle.value = false
            let newer = try await tokens.replacement(for: old)
            #expect(newer.accessToken == "new")
        }
    }
}
