import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("The authorization server of the test kit")
struct ScriptedServerTests {
    private func code(of error: ServiceError?) -> String? {
        guard case .rejected(let rejection) = error else { return nil }
        return rejection.code
    }

    @Test("a code that was used before gets no token, and nobody is signed in")
    func usedCode() async throws {
        let scene = try await SignInScene(misbehavior: [.usedCode])
        let error = await failure { () async throws(ServiceError) in try await scene.signIn() }
        #expect(code(of: error) == "invalid_grant")
        #expect(scene.forms.count == 1)
    }

    @Test("a user who takes too long is not signed in, although the answer comes in the end")
    func late() async throws {
        let scene = try await SignInScene()
        scene.server.delayOfUser = .seconds(599)
        let browser = scene.server.browser
        let token = try await scene.clock.run { try await scene.oauth.signIn(using: browser) }
        #expect(token.accessToken == "access-2")
        scene.server.delayOfUser = .seconds(601)
        let error = await scene.clock.run {
            await failure { () async throws(ServiceError) in try await scene.oauth.signIn(using: browser) }
        }
        guard case .timedOut(let timeout) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(timeout.bound == .signIn)
        #expect(scene.forms.count == 1)
    }

    @Test("S7: a device that is told to slow down asks five seconds later each time, and gets its token")
    func slowDown() async throws {
        let scene = try await SignInScene(misbehavior: [.slowDown])
        scene.server.answerOfUser = .leaves
        let token = try await scene.clock.run {
            async let token = scene.oauth.signInOnAnotherDevice { _ in }
            // After the first poll and before the second.
            try await scene.clock.sleep(for: .seconds(10))
            scene.server.answerOfUser = .agrees
            return try await token
        }
        #expect(token.accessToken.hasPrefix("access"))
        let polls = scene.network.sent.filter { $0.request.url.path == "/token" }
        #expect(polls.map { Instant.zero.duration(to: $0.at) } == [.seconds(5), .seconds(15)])
    }
}
