@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("One refresh for many callers")
struct SharedRefreshTests {
    @Test("T1: fifty calls meet an expired token: one refresh, and all continue with its result", arguments: 0..<20)
    func expired(seed: UInt64) async throws {
        let scene = AuthScene(seed: seed, lifetime: .seconds(600))
        try await scene.clock.runTest {
            await scene.tokens.signIn(scene.server.signIn("ann"))
            try await scene.clock.sleep(for: .seconds(601))
            let names = try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<50 { group.addTask { try await scene.me() } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(names == Array(repeating: "ann", count: 50))
        }
        #expect(scene.server.refreshes == ["refresh.ann.0"])
        #expect(scene.sentTokens == Array(repeating: "ann.1", count: 50), "no call may send the expired token")
        #expect(scene.clock.elapsed == .seconds(602))
    }

    @Test("T1: fifty calls get a 401: one refresh, and all are replayed with its result", arguments: 0..<20)
    func refused(seed: UInt64) async throws {
        let scene = AuthScene(seed: seed)
        try await scene.clock.runTest {
            await scene.tokens.signIn(scene.server.signIn("ann"))
            scene.server.refuseAccess(of: "ann")
            try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<50 { group.addTask { try await scene.me() } }
                for try await name in group { #expect(name == "ann") }
            }
        }
        #expect(scene.server.refreshes == ["refresh.ann.0"])
        #expect(scene.sentTokens.filter { $0 == "ann.1" }.count == 50)
        let refused = scene.sentTokens.filter { $0 == "ann.0" }.count
        #expect((1...50).contains(refused), "who comes after the first refusal need not be refused too")
    }

    @Test("calls that begin while a refused token is replaced wait for the new one", arguments: 0..<20)
    func afterRefusal(seed: UInt64) async throws {
        let scene = AuthScene(seed: seed)
        try await scene.clock.runTest {
            await scene.tokens.signIn(scene.server.signIn("ann"))
            scene.server.refuseAccess(of: "ann")
            try await withThrowingTaskGroup(of: String.self) { group in
                group.addTask { try await scene.me() }
                try await scene.clock.sleep(for: .milliseconds(500))
                for _ in 0..<49 { group.addTask { try await scene.me() } }
                for try await name in group { #expect(name == "ann") }
            }
        }
        #expect(scene.sentTokens == ["ann.0"] + Array(repeating: "ann.1", count: 50))
    }

    @Test("T2: a 401 for a token that was replaced meanwhile is replayed with the current one", arguments: 0..<20)
    func lateRefusal(seed: UInt64) async throws {
        let scene = AuthScene(seed: seed, answering: false)
        scene.network.on(.get, "/slow") {
            ScriptedReply.status(401).after(.seconds(30))
            ScriptedReply.json(#""done""#)
        }
        scene.network.on(.get, "/me") { .response(scene.server.answer($0)) }
        try await scene.clock.runTest {
            await scene.tokens.signIn(scene.server.signIn("ann"))
            async let slow: String = scene.client.run(Endpoint<String>.get("slow").timeout(.seconds(60)))
            try await scene.clock.sleep(for: .seconds(1))
            scene.server.refuseAccess(of: "ann")
            #expect(try await scene.me() == "ann")
            #expect(try await slow == "done")
        }
        #expect(scene.server.refreshes.count == 1)
        #expect(scene.sentTokens == ["ann.0", "ann.0", "ann.1", "ann.1"])
    }

    @Test("T2: for a token that it has replaced, the store returns the current one without a refresh")
    func replaced() async throws {
        let scene = AuthScene()
        try await scene.clock.runTest {
            let first = scene.server.signIn("ann")
            await scene.tokens.signIn(first)
            let second = try await scene.tokens.replacement(for: first)
            let third = try await scene.tokens.replacement(for: second)
            #expect(third.accessToken == "ann.2")
            #expect(try await scene.tokens.replacement(for: first) == third)
            #expect(try await scene.tokens.replacement(for: second) == third)
        }
        #expect(scene.server.refreshes.count == 2)
    }

    @Test("T4: a cancelled waiter leaves at once; the refresh and the others continue", arguments: 0..<20)
    func cancelledWaiter(seed: UInt64) async throws {
        let scene = AuthScene(seed: seed, lifetime: .seconds(600), takes: .seconds(5))
        let (clock, tokens) = (scene.clock, scene.tokens)
        try await clock.runTest {
            await tokens.signIn(scene.server.signIn("ann"))
            try await clock.sleep(for: .seconds(601))
            let waiters = (0..<10).map { _ in
                Task(executorPreference: clock.executor) { () async throws -> (String, Instant) in
                    do {
                        return (try await tokens.token().accessToken, clock.now)
                    } catch ServiceError.cancelled {
                        return ("cancelled", clock.now)
                    }
                }
            }
            try await clock.sleep(for: .seconds(2))
            let moment = clock.now
            // The first waiter is among them: the refresh does not belong to it.
            for waiter in waiters.prefix(5) { waiter.cancel() }
            for (index, waiter) in waiters.enumerated() {
                let (outcome, ended) = try await waiter.value
                #expect(outcome == (index < 5 ? "cancelled" : "ann.1"))
                #expect(ended == (index < 5 ? moment : moment.advanced(by: .seconds(3))))
            }
        }
        #expect(scene.server.refreshes.count == 1)
    }

    @Test("T5: every waiter is cancelled; the refresh finishes, is saved and is used", arguments: 0..<20)
    func everyWaiterCancelled(seed: UInt64) async throws {
        let scene = AuthScene(seed: seed, lifetime: .seconds(600), takes: .seconds(5))
        let (clock, tokens) = (scene.clock, scene.tokens)
        try await clock.runTest {
            await tokens.signIn(scene.server.signIn("ann"))
            try await clock.sleep(for: .seconds(601))
            let calls = (0..<3).map { _ in
                Task(executorPreference: clock.executor) { await failure(of: scene.me) }
            }
            try await clock.sleep(for: .seconds(1))
            for call in calls { call.cancel() }
            for call in calls { #expect(await call.value == .cancelled) }
            #expect(scene.disk.load()?.token.accessToken == "ann.0")
            try await clock.sleep(for: .seconds(5))
            #expect(scene.disk.load()?.token.refreshToken == "refresh.ann.1", "the rotated refresh token was lost")
            #expect(try await scene.me() == "ann")
        }
        #expect(scene.server.refreshes.count == 1)
        #expect(scene.sentTokens == ["ann.1"])
    }

    @Test("T13: the limiter's queue is full of calls; the refresh goes to its head", arguments: 0..<20)
    func fullLine(seed: UInt64) async throws {
        let clock = TestClock(seed: seed)
        let network = scripted()
        let limiter = RateLimiter(.requests(1, per: .seconds(1)), time: clock)
        let login = testClient(network, clock) { $0.limiter = limiter }
        network.on(.post, "/token") { .json(#""new""#) }
        network.on(
            .get, "/me",
            answering: { request in
                let isGood = request.headers["Authorization"] == "Bearer new"
                return .status(isGood ? 200 : 401, body: #""ann""#)
            })
        let tokens = TokenStore(time: clock) { _ in Token(accessToken: try await login.run(.post("token"))) }
        let client = testClient(network, clock) {
            $0.limiter = limiter
            $0.tokens = tokens
        }
        try await clock.runTest {
            await tokens.signIn(Token(accessToken: "old"))
            try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<20 { group.addTask { try await client.run(.me) } }
                for try await name in group { #expect(name == "ann") }
            }
        }
        // One call is sent at once and refused; the next permit goes to the refresh, and the one after it to the
        // replay.
        #expect(network.sent.prefix(3).map(\.request.url.path) == ["/me", "/token", "/me"])
        #expect(network.sent.dropFirst(2).allSatisfy { $0.request.headers["Authorization"] == "Bearer new" })
        #expect(network.sent.count == 22)
        #expect(clock.elapsed == .seconds(21))
    }
}
