@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("Whether a call is signed")
struct AuthenticationRuleTests {
    @Test(
        "the token that is sent, by the call's rule and whether a user is signed in",
        arguments: [
            (CallOptions.Authentication.automatic, true, "ann.0"), (.required, true, "ann.0"),
            (.optional, true, "ann.0"), (.none, true, "unsigned"), (.optional, false, "unsigned"),
            (.none, false, "unsigned"), (.required, false, "nothing"), (.automatic, false, "nothing"),
        ])
    func rules(rule: CallOptions.Authentication, isSignedIn: Bool, sent: String) async throws {
        let scene = AuthScene(answering: false)
        if sent != "nothing" { scene.network.on(.get, "/me") { .json(#""me""#) } }
        try await scene.clock.runTest {
            if isSignedIn { await scene.tokens.signIn(scene.server.signIn("ann")) }
            var endpoint = Endpoint<String>.me
            endpoint.options.authentication = rule
            let error = await failure { [endpoint] () async throws(ServiceError) in
                try await scene.client.run(endpoint)
            }
            #expect(error == (sent == "nothing" ? .signInRequired : nil))
        }
        #expect(scene.sentTokens.map { $0 ?? "unsigned" } == (sent == "nothing" ? [] : [sent]))
    }

    @Test("a client without tokens signs nothing, and cannot make a call that requires signing")
    func noTokens() async throws {
        let clock = TestClock()
        let network = scripted()
        network.on(.get, "/me") { ScriptedReply.json(#""me""#).times(2) }
        let client = testClient(network, clock)
        try await clock.runTest {
            _ = try await client.run(.me)
            _ = try await client.run(.me.authentication(.optional))
            let error = await failure { () async throws(ServiceError) in
                try await client.run(.me.authentication(.required))
            }
            #expect(error == .signInRequired)
        }
        #expect(network.sent.map { $0.request.headers["Authorization"] } == [nil, nil])
    }

    @Test("a request with credentials of its own needs no session, and is sent as it is")
    func ownCredentials() async throws {
        let scene = AuthScene(answering: false)
        scene.network.on(.get, "/me") { ScriptedReply.json(#""me""#).times(2) }
        let own: Endpoint<String> = .me.header("Authorization", "Basic YTpi")
        try await scene.clock.runTest {
            _ = try await scene.client.run(own)
            await scene.tokens.signIn(Token(accessToken: "abc"))
            _ = try await scene.client.run(own)
        }
        #expect(scene.network.sent.map { $0.request.headers["Authorization"] } == ["Basic YTpi", "Basic YTpi"])
    }

    @Test("an optional call of a signed-in user has its token refreshed like any other")
    func optionalRefresh() async throws {
        let scene = AuthScene()
        try await scene.clock.runTest {
            await scene.tokens.signIn(scene.server.signIn("ann"))
            scene.server.refuseAccess(of: "ann")
            let name = try await scene.client.run(.me.authentication(.optional))
            #expect(name == "ann")
        }
        #expect(scene.sentTokens == ["ann.0", "ann.1"])
    }

    @Test("the scheme of the header is the token's type")
    func scheme() async throws {
        let scene = AuthScene(answering: false)
        scene.network.on(.get, "/me") { .json(#""me""#) }
        try await scene.clock.runTest {
            await scene.tokens.signIn(Token(accessToken: "abc", type: "JWT"))
            _ = try await scene.me()
        }
        #expect(scene.network.sent.first?.request.headers["Authorization"] == "JWT abc")
    }

    @Test("T9: a call whose refresh fails temporarily is not sent, and the retry policy does not repeat it")
    func noRetryAroundRefresh() async throws {
        let scene = AuthScene(lifetime: .seconds(600))
        scene.server.plan(.fail(.reset))
        try await scene.clock.runTest {
            await scene.tokens.signIn(scene.server.signIn("ann"))
            try await scene.clock.sleep(for: .seconds(601))
            #expect(await failure(of: scene.me) == .reset)
        }
        #expect(scene.network.sent.isEmpty)
        #expect(scene.server.refreshes.count == 1)
    }

    @Test("T4: a deadline ends the wait for a refresh, which continues")
    func deadline() async throws {
        let scene = AuthScene(lifetime: .seconds(600), takes: .seconds(5))
        try await scene.clock.runTest {
            await scene.tokens.signIn(scene.server.signIn("ann"))
            try await scene.clock.sleep(for: .seconds(601))
            let error = await failure { () async throws(ServiceError) in
                try await scene.client.run(.me.deadline(.seconds(2)))
            }
            #expect(error == .timedOut(Timeout(.deadline, limit: .seconds(2), phase: .waitingForToken)))
            try await scene.clock.sleep(for: .seconds(3))
            #expect(scene.disk.load()?.token.accessToken == "ann.1")
        }
    }
}
