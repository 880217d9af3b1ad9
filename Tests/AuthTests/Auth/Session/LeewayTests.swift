@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("Tokens that are about to expire")
struct LeewayTests {
    @Test("T11: inside the leeway calls are sent at once, and one refresh runs in the background", arguments: 0..<20)
    func beside(seed: UInt64) async throws {
        let scene = AuthScene(seed: seed, lifetime: .seconds(600), takes: .seconds(5))
        let clock = scene.clock
        try await clock.runTest {
            await scene.tokens.signIn(scene.server.signIn("ann"))
            try await clock.sleep(for: .seconds(541))
            let moment = clock.now
            try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<20 { group.addTask { try await scene.me() } }
                for try await name in group { #expect(name == "ann") }
            }
            #expect(clock.now == moment, "no call waits for the refresh")
            try await clock.sleep(for: .seconds(6))
            let name = try await scene.me()
            #expect(name == "ann")
        }
        #expect(scene.sentTokens == Array(repeating: "ann.0", count: 20) + ["ann.1"])
        #expect(scene.server.refreshes.count == 1)
    }

    @Test("T11: before the leeway there is no refresh; at its very beginning there is one")
    func border() async throws {
        let scene = AuthScene(lifetime: .seconds(600))
        try await scene.clock.runTest {
            await scene.tokens.signIn(scene.server.signIn("ann"))
            try await scene.clock.sleep(for: .milliseconds(539_999))
            _ = try await scene.me()
            try await scene.clock.sleep(for: .seconds(5) - .seconds(5))
            #expect(scene.server.refreshes.isEmpty)
            try await scene.clock.sleep(for: .milliseconds(1))
            _ = try await scene.me()
            try await scene.clock.sleep(for: .seconds(5))
            #expect(scene.server.refreshes.count == 1)
        }
    }

    @Test("T11: the token expires during the background refresh; from then on calls wait for it", arguments: 0..<20)
    func expiresDuringRefresh(seed: UInt64) async throws {
        let scene = AuthScene(seed: seed, lifetime: .seconds(600), takes: .seconds(30))
        try await scene.clock.runTest {
            await scene.tokens.signIn(scene.server.signIn("ann"))
            try await scene.clock.sleep(for: .seconds(590))
            _ = try await scene.me()
            try await scene.clock.sleep(for: .seconds(15))
            _ = try await scene.me()
        }
        #expect(scene.sentTokens == ["ann.0", "ann.1"])
        #expect(scene.server.refreshes.count == 1)
        #expect(scene.clock.elapsed == .seconds(620))
    }

    @Test("T11: a failed background refresh affects no call, and backs off while the token is valid")
    func failsBeside() async throws {
        let scene = AuthScene(seed: 3, lifetime: .seconds(600), takes: .zero)
        for _ in 0..<100 { scene.server.plan(.fail(.reset)) }
        try await scene.clock.runTest {
            await scene.tokens.signIn(scene.server.signIn("ann"))
            try await scene.clock.sleep(for: .seconds(540))
            for _ in 0..<500 {
                _ = try await scene.me()
                try await scene.clock.sleep(for: .milliseconds(100))
            }
        }
        #expect(scene.sentTokens == Array(repeating: "ann.0", count: 500))
        // The pauses double from 0.2 s to 20 s, and on average last half of that.
        #expect((4...20).contains(scene.server.refreshes.count), "\(scene.server.refreshes.count) refreshes")
    }

    @Test("T12: a lifetime shorter than the leeway causes no storm: half of it is the leeway", arguments: 0..<5)
    func shortLife(seed: UInt64) async throws {
        let scene = AuthScene(seed: seed, lifetime: .seconds(20), takes: .zero)
        try await scene.clock.runTest {
            await scene.tokens.signIn(scene.server.signIn("ann"))
            for _ in 0..<2000 {
                _ = try await scene.me()
                try await scene.clock.sleep(for: .milliseconds(100))
            }
        }
        #expect(scene.server.refreshes.count == 19, "one in ten seconds, for two hundred seconds")
        #expect(scene.server.mostAtOnce == 1)
    }

    @Test(
        "T12: when a token counts as aging",
        arguments: [
            (3600.0, 3539.0, "good"), (3600, 3540, "aging"), (3600, 3600, "expired"), (100, 49, "good"),
            (100, 50, "aging"), (10, 4.9, "good"), (10, 5, "aging"), (10, 10, "expired"), (0, 0, "expired"),
            (-5, 0, "expired"),
        ])
    func answers(lifetime: Double, age: Double, answer: String) {
        let start = Date(timeIntervalSince1970: 1_000_000_000)
        var state = SessionState<Int>(leeway: 60)
        let token = Token(accessToken: "a", expiry: start.addingTimeInterval(lifetime))
        let session = SavedSession(id: UUID(), token: token, received: start)
        _ = state.signIn(session)
        switch state.status(of: session.id, at: start.addingTimeInterval(age)) {
        case .good: #expect(answer == "good")
        case .aging: #expect(answer == "aging")
        case .expired: #expect(answer == "expired")
        case .beingReplaced, .ended: Issue.record("neither is the case")
        }
    }

    @Test("a valid token is returned without waiting for the store's actor")
    func fastPath() async throws {
        let scene = AuthScene(lifetime: .seconds(600))
        try await scene.clock.runTest {
            await scene.tokens.signIn(scene.server.signIn("ann"))
        }
        let session = try #require(scene.tokens.presentSession)
        let good = try #require(try scene.tokens.live.currentToken(of: session))
        #expect(good.token.accessToken == "ann.0" && !good.isRefreshDue)
        #expect(throws: ServiceError.self) { try scene.tokens.live.currentToken(of: UUID()) }
        await scene.clock.advance(by: .seconds(541))
        #expect(try scene.tokens.live.currentToken(of: session)?.isRefreshDue == true)
    }

    @Test("T9: after a failed background refresh, a call does not wait for the actor until the backoff is over")
    func fastPathInBackoff() async throws {
        let scene = AuthScene(seed: 1, lifetime: .seconds(600), takes: .zero)
        scene.server.plan(.fail(.reset))
        try await scene.clock.runTest {
            await scene.tokens.signIn(scene.server.signIn("ann"))
            try await scene.clock.sleep(for: .seconds(541))
            _ = try await scene.me()
            try await scene.clock.sleep(for: .nanoseconds(1))
        }
        let session = try #require(scene.tokens.presentSession)
        #expect(scene.server.refreshes.count == 1)
        #expect(try scene.tokens.live.currentToken(of: session)?.isRefreshDue == false)
        await scene.clock.advance(by: .seconds(20))
        #expect(try scene.tokens.live.currentToken(of: session)?.isRefreshDue == true)
    }

    @Test("a token whose expiry is not known is used until the server refuses it")
    func unknownExpiry() async throws {
        let scene = AuthScene()
        try await scene.clock.runTest {
            await scene.tokens.signIn(scene.server.signIn("ann"))
            try await scene.clock.sleep(for: .seconds(1_000_000))
            _ = try await scene.me()
        }
        #expect(scene.server.refreshes.isEmpty)
    }

    @Test("T12: a wall clock that is set back neither refreshes nor ends anything")
    func clockSetBack() async throws {
        let scene = AuthScene(lifetime: .seconds(600))
        try await scene.clock.runTest {
            await scene.tokens.signIn(scene.server.signIn("ann"))
            scene.clock.date = scene.clock.date.addingTimeInterval(-86_400)
            _ = try await scene.me()
        }
        #expect(scene.server.refreshes.isEmpty)
    }

    @Test("T9: after a failed background refresh, a call during the backoff starts none")
    func noneInBackoff() async throws {
        let scene = AuthScene(seed: 1, lifetime: .seconds(600), takes: .zero)
        scene.server.plan(.fail(.reset))
        try await scene.clock.runTest {
            await scene.tokens.signIn(scene.server.signIn("ann"))
            try await scene.clock.sleep(for: .seconds(541))
            _ = try await scene.me()
            try await scene.clock.sleep(for: .nanoseconds(1))
            #expect(scene.server.refreshes.count == 1)
            _ = try await scene.me()
            try await scene.clock.sleep(for: .seconds(20))
            #expect(scene.server.refreshes.count == 1)
            _ = try await scene.me()
            try await scene.clock.sleep(for: .nanoseconds(1))
            #expect(scene.server.refreshes.count == 2)
        }
    }
}
