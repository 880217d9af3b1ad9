@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("The end of a program after a sign-out", .timeLimit(.minutes(10))) struct AwaitedRemovalTests {
    /// Keeps something of sessions on a disk, and removes it when the test says so.
    private final class Keeper: SessionKeeper {
        let removal = Latch()

        func remove(session: UUID) -> Latch? { removal }
    }

    private let clock = TestClock()
    private let tokens: TokenStore

    init() {
        tokens = TokenStore(refreshTimeout: .seconds(20), time: clock) { $0 }
    }

    /// Waits for the store, and returns when the wait has ended.
    private func ended() async -> Duration {
        await tokens.waitUntilSaved()
        return clock.elapsed
    }

    @Test("K7, T18: `waitUntilSaved()` waits for what a session has left on a disk, even if its keeper is released")
    func waits() async throws {
        try await clock.run {
            let removal = await signedOut()
            async let end = ended()
            try await clock.sleep(for: .seconds(5))
            removal.open()
            #expect(await end == .seconds(5))
            #expect(await ended() == .seconds(5))
        }
    }

    @Test("K7, T18: `waitUntilSaved()` waits for a disk that hangs no longer than the `refreshTimeout`, and once")
    func limit() async {
        await clock.run {
            _ = await signedOut()
            #expect(await ended() == .seconds(20))
            #expect(await ended() == .seconds(20))
        }
    }

    /// Signs out of a session of which a keeper has something. Returns the removal; the keeper is released.
    private func signedOut() async -> Latch {
        let keeper = Keeper()
        tokens.live.add(keeper)
        await tokens.signIn(Token(accessToken: "ann"))
        await tokens.signOut()
        return keeper.removal
    }
}
