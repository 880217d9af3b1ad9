import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("Keeping the process alive") struct ProcessAssertionTests {
    private let steps = Noted<[String]>([])

    private func noting(_ base: some TokenPersistence) -> some TokenPersistence {
        base.keepingProcessAlive { [steps] in
            steps.value.append("begin")
            return { steps.value.append("end") }
        }
    }

    @Test("the process is kept alive from before the refresh until the new token is saved")
    func refresh() async throws {
        let clock = TestClock()
        let disk = CountingPersistence()
        let old = Token(accessToken: "old", refreshToken: "r", expiry: clock.date)
        disk.put(SavedSession(id: UUID(), token: old, received: .distantPast))
        let tokens = TokenStore(persistence: noting(disk), time: clock) { [steps] _ in
            steps.value.append("refresh")
            return Token(accessToken: "new")
        }
        try await clock.runTest {
            let token = try await tokens.token()
            #expect(token.accessToken == "new")
        }
        #expect(steps.value == ["begin", "refresh", "end"])
        #expect(disk.saves == ["new"])
    }

    @Test("K7: a session outlives the process if what saves it says so")
    func outliving() {
        #expect(!noting(MemoryTokenPersistence()).outlivesProcess)
        #expect(noting(LockedPersistence()).outlivesProcess)
    }

    @Test("what was begun is ended, too, if the session cannot be locked")
    func failure() async {
        await #expect(throws: TokenPersistenceError.self) { try await noting(LockedPersistence()).exclusively { _ in } }
        #expect(steps.value == ["begin", "end"])
    }
}

private struct LockedPersistence: TokenPersistence {
    func load() -> SavedSession? { nil }
    func save(_ session: SavedSession?) {}
    func exclusively(_ body: @Sendable (SessionLock) async -> Void) async throws {
        throw TokenPersistenceError(.locked, "")
    }
}
