@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("The pace of calls that wait for a refresh") struct PacedRefreshTests {
    @Test(
        "T13: no rolling second has a sixth send, the refresh and its waiters included",
        arguments: UInt64(0)..<10)
    func pace(seed: UInt64) async throws {
        let (clock, network) = (TestClock(seed: seed), scripted())
        network.on(.post, "/token", .json(#""new""#).after(.milliseconds(300)))
        network.on(.get, "/x") { ScriptedReply.json("1").times(20) }
        let limiter = RateLimiter(.requests(5, per: .seconds(1)), time: clock)
        let login = testClient(network, clock) { $0.limiter = limiter }
        let tokens = TokenStore(time: clock) { old in
            Token(accessToken: try await login.run(.post("token")), refreshToken: old.refreshToken)
        }
        await tokens.signIn(Token(accessToken: "old", refreshToken: "r", expiry: clock.date))
        let client = testClient(network, clock) { ($0.limiter, $0.tokens) = (limiter, tokens) }
        try await clock.run {
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<20 { group.addTask { try await client.run(.get("x")) } }
                for try await _ in group {}
            }
        }
        let instants = network.sent.map(\.at)
        #expect(instants.count == 21)
        for end in instants {
            #expect(instants.count { $0 <= end && $0.duration(to: end) < .seconds(1) } <= 5)
        }
        // The waiters do not delay the refresh: it gets a permit at once.
        #expect(instants.first == .zero)
        try network.verify()
    }

    @Test("T6: a call that waits in the queue after a refresh is not sent once its user has signed out")
    func signOutInLine() async throws {
        let scene = AuthScene(lifetime: .seconds(600), takes: .seconds(1)) {
            $0.rateLimit = .requests(1, per: .seconds(1))
        }
        let (clock, tokens) = (scene.clock, scene.tokens)
        try await clock.runTest {
            await tokens.signIn(scene.server.signIn("ann"))
            try await clock.sleep(for: .seconds(601))
            let calls = (0..<3).map { _ in
                Task(executorPreference: clock.executor) { await failure(of: scene.me) }
            }
            try await clock.sleep(for: .milliseconds(1500))
            await tokens.signOut()
            var reasons: [SessionExpiry.Reason?] = []
            for call in calls { reasons.append(await call.value?.reason) }
            #expect(reasons.count { $0 == .signedOut } == 2)
        }
        #expect(scene.sentTokens == ["ann.1"])
    }

    @Test("T6: a replay that waits in the queue is not sent once its user has signed out")
    func signOutBeforeReplay() async throws {
        let scene = AuthScene(takes: .seconds(1)) { $0.rateLimit = .requests(1, per: .seconds(5)) }
        let (clock, tokens) = (scene.clock, scene.tokens)
        try await clock.runTest {
            await tokens.signIn(scene.server.signIn("ann"))
            scene.server.refuseAccess(of: "ann")
            let call = Task(executorPreference: clock.executor) { await failure(of: scene.me) }
            try await clock.sleep(for: .seconds(2))
            await tokens.signOut()
            #expect(await call.value?.reason == .signedOut)
        }
        #expect(scene.sentTokens == ["ann.0"])
    }

    @Test(
        "T13: a token that expires while calls wait in the queue is replaced before any of them is sent with it",
        arguments: [true, false])
    func shortLived(isRefused: Bool) async throws {
        let (clock, network) = (TestClock(), scripted())
        let issued = Noted(0)
        network.on(
            .post, "/token",
            answering: { _ in
                issued.update { $0 += 1 }
                return .status(200, body: "\(issued.value)")
            })
        network.on(.get, "/x", times: isRefused ? 101 : 100) { request in
            let isOld = request.headers["Authorization"] == "Bearer old"
            return .status(isOld ? 401 : 200, body: "1")
        }
        let limiter = RateLimiter(.requests(1, per: .seconds(1)), time: clock)
        let login = testClient(network, clock) { $0.limiter = limiter }
        let tokens = TokenStore(time: clock) { old in
            let number: Int = try await login.run(.post("token"))
            return Token(
                accessToken: "\(number)", refreshToken: old.refreshToken, expiry: clock.date.addingTimeInterval(10))
        }
        await tokens.signIn(Token(accessToken: "old", refreshToken: "r", expiry: isRefused ? nil : clock.date))
        let client = testClient(network, clock) { ($0.limiter, $0.tokens) = (limiter, tokens) }
        try await clock.run {
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<100 { group.addTask { try await client.run(.get("x")) } }
                for try await _ in group {}
            }
        }
        var (present, born) = ("", Instant.zero)
        for sent in network.sent.drop(while: { $0.request.url.path == "/x" }) {
            if sent.request.method == .post {
                (present, born) = ("Bearer \((Int(present.dropFirst(7)) ?? 0) + 1)", sent.at)
            } else {
                #expect(sent.request.headers["Authorization"] == present)
                #expect(born.duration(to: sent.at) < .seconds(10))
            }
        }
        #expect(issued.value <= 20)
        #expect(
            network.sent.indices.dropFirst().allSatisfy {
                network.sent[$0 - 1].at.duration(to: network.sent[$0].at) >= .seconds(1)
            })
    }
}
