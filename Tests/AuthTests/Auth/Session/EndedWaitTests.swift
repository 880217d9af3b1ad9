import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("T6, T20: calls that wait when their session ends") struct EndedWaitTests {
    /// What a call waits for.
    enum Wait: CaseIterable, Sendable {
        case permit, sharedPermit, retry, network
    }

    private let scene: AuthScene
    private let isOnline = Noted(true)

    init() {
        scene = AuthScene()
    }

    /// Returns a client whose first call is answered, or fails, at once, and whose other calls wait for a minute.
    private func client(waitingFor wait: Wait) -> APIClient {
        let (tokens, isOnline) = (scene.tokens, isOnline)
        let slow = RateLimiter(.requests(1, per: .seconds(60)), time: scene.clock)
        scene.network.on(.get, "/x", wait == .retry ? .status(503, headers: ["Retry-After": "60"]) : .status(204))
        return testClient(scene.network, scene.clock) {
            $0.tokens = tokens
            switch wait {
            case .permit: $0.limiter = slow
            case .sharedPermit: $0.limiter = RateLimiter(.requests(5, per: .seconds(1)), within: slow)
            case .retry: break
            case .network:
                $0.offline = .wait(upTo: .seconds(60))
                $0.connectivity = Connectivity { isOnline.value }
            }
        }
    }

    @Test("T6: they fail at once with .sessionExpired, and leave nothing in the queue", arguments: Wait.allCases)
    func signOut(wait: Wait) async throws {
        let (clock, tokens, client) = (scene.clock, scene.tokens, client(waitingFor: wait))
        await tokens.signIn(Token(accessToken: "a1"))
        try await clock.runTest {
            if wait != .retry { try await client.run(.get("x")) }
            isOnline.value = false
            let calls = (0..<3).map { _ in
                Task(executorPreference: clock.executor) {
                    await failure { () async throws(ServiceError) in try await client.run(.get("x")) }
                }
            }
            try await clock.sleep(for: .seconds(5))
            await tokens.signOut()
            var haveReachedServer: [Bool] = []
            for call in calls {
                let error = await call.value
                guard case .sessionExpired(let expiry) = error else { throw try #require(error) }
                #expect(expiry.reason == .signedOut)
                haveReachedServer.append(expiry.mayHaveReachedServer)
            }
            // The first one was refused; by then the limiter was paused for the others.
            #expect(haveReachedServer.count { $0 } == (wait == .retry ? 1 : 0))
            #expect(clock.elapsed == .seconds(5))
            #expect(client.limiter.snapshot.waiters == 0)
            #expect(scene.network.sent.count == 1)
        }
    }

    @Test("T20: another user's sign-in ends them too, and their place goes to the calls of that user")
    func otherUser() async throws {
        let (clock, tokens, client) = (scene.clock, scene.tokens, client(waitingFor: .permit))
        scene.network.on(.get, "/x", headers: ["Authorization": "Bearer b1"], .status(204))
        await tokens.signIn(Token(accessToken: "a1"))
        try await clock.runTest {
            try await client.run(.get("x"))
            let call = Task(executorPreference: clock.executor) {
                await failure { () async throws(ServiceError) in try await client.run(.get("x")) }
            }
            try await clock.sleep(for: .seconds(5))
            await tokens.signIn(Token(accessToken: "b1"))
            #expect(await call.value == .sessionExpired(SessionExpiry(.otherSession)))
            #expect(clock.elapsed == .seconds(5))
            try await client.run(.get("x"))
            #expect(clock.elapsed == .seconds(60))
        }
    }

    @Test("calls that are not signed go on waiting, and a watch that is over stops nothing")
    func others() async throws {
        let (clock, tokens, client) = (scene.clock, scene.tokens, client(waitingFor: .permit))
        scene.network.on(.get, "/x") { ScriptedReply.status(204).times(2) }
        await tokens.signIn(Token(accessToken: "a1"))
        try await clock.runTest {
            try await client.run(.get("x"))
            // It has its permit when the session ends.
            try await client.run(.get("x"))
            async let unsigned: NoContent = client.run(.get("x").authentication(.none))
            try await clock.sleep(for: .seconds(5))
            await tokens.signOut()
            _ = try await unsigned
            #expect(clock.elapsed == .seconds(120))
        }
    }
}
