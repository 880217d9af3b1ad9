@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("What follows a 401")
struct ReplayTests {
    @Test("T3: the replay gets a 401 too, which is the result")
    func secondRefusal() async throws {
        let scene = AuthScene(answering: false)
        scene.network.on(.get, "/me") { ScriptedReply.json(#"{"message":"not you"}"#, status: 401).times(2) }
        try await scene.clock.runTest {
            await scene.tokens.signIn(scene.server.signIn("ann"))
            let error = try #require(await failure(of: scene.me))
            #expect(error.status == 401)
            #expect(error.localizedDescription == "not you")
            #expect(await scene.tokens.isSignedIn)
        }
        try scene.network.verify()
        #expect(scene.sentTokens == ["ann.0", "ann.1"])
    }

    @Test("T3: after five refreshes within 30 s there is none until the window has passed")
    func cap() async throws {
        let scene = AuthScene(answering: false)
        scene.network.on(.get, "/me") { ScriptedReply.status(401).always }
        try await scene.clock.runTest {
            await scene.tokens.signIn(scene.server.signIn("ann"))
            for _ in 0..<5 { #expect(await failure(of: scene.me)?.status == 401) }
            let error = await failure(of: scene.me)
            #expect(error?.reason == .tooManyRefreshes)
            #expect(scene.server.refreshes.count == 5)
            #expect(await scene.tokens.isSignedIn, "the session may be fine; it is kept")
            // The first of the five ended after one second, so it leaves the window at 31 s.
            try await scene.clock.sleep(until: Instant.zero.advanced(by: .seconds(31)))
            #expect(await failure(of: scene.me)?.status == 401)
            #expect(scene.server.refreshes.count == 6)
        }
    }

    @Test("T16: a 403 triggers no refresh")
    func forbidden() async throws {
        let scene = AuthScene(answering: false)
        scene.network.on(.get, "/me") { .status(403) }
        try await scene.clock.runTest {
            await scene.tokens.signIn(scene.server.signIn("ann"))
            #expect(await failure(of: scene.me)?.status == 403)
        }
        #expect(scene.server.refreshes.isEmpty)
    }

    @Test("T16: a call without authentication is not signed, and its 401 triggers no refresh")
    func unsigned() async throws {
        let scene = AuthScene(answering: false)
        scene.network.on(.get, "/me") { .status(401) }
        try await scene.clock.runTest {
            await scene.tokens.signIn(scene.server.signIn("ann"))
            let error = await failure { () async throws(ServiceError) in
                try await scene.client.run(.me.authentication(.none))
            }
            #expect(error?.status == 401)
        }
        #expect(scene.server.refreshes.isEmpty)
        #expect(scene.sentTokens == [nil])
    }

    @Test("T16: a 401 of another origin, to which a redirect led, triggers no refresh")
    func otherOrigin() async throws {
        let scene = AuthScene(answering: false)
        scene.network.on(.get, "https://api.test/me") {
            .status(302, headers: ["Location": "https://files.test/ann"])
        }
        scene.network.on(.get, "https://files.test/ann") { .status(401) }
        try await scene.clock.runTest {
            await scene.tokens.signIn(scene.server.signIn("ann"))
            #expect(await failure(of: scene.me)?.status == 401)
        }
        #expect(scene.server.refreshes.isEmpty)
        #expect(scene.sentTokens == ["ann.0", nil])
    }

    @Test("T16: a 401 after a redirect through another origin, which removed the token, triggers no refresh")
    func thereAndBack() async throws {
        let scene = AuthScene(answering: false)
        scene.network.on(.get, "https://api.test/me") {
            .status(302, headers: ["Location": "https://files.test/ann"])
        }
        scene.network.on(.get, "https://files.test/ann") {
            .status(302, headers: ["Location": "https://api.test/private"])
        }
        scene.network.on(.get, "https://api.test/private") { .status(401) }
        try await scene.clock.runTest {
            await scene.tokens.signIn(scene.server.signIn("ann"))
            #expect(await failure(of: scene.me)?.status == 401)
        }
        #expect(scene.server.refreshes.isEmpty)
        #expect(scene.sentTokens == ["ann.0", nil, nil])
    }

    @Test("T16: a 401 after a redirect within the origin is about the token: it is refreshed and replayed")
    func sameOrigin() async throws {
        let scene = AuthScene(answering: false)
        scene.network.on(.get, "/me") { ScriptedReply.status(302, headers: ["Location": "/users/ann"]).times(2) }
        scene.network.on(.get, "/users/ann") { .response(scene.server.answer($0)) }
        try await scene.clock.runTest {
            await scene.tokens.signIn(scene.server.signIn("ann"))
            scene.server.refuseAccess(of: "ann")
            let name = try await scene.me()
            #expect(name == "ann")
        }
        #expect(scene.sentTokens == ["ann.0", "ann.0", "ann.1", "ann.1"])
    }

    @Test("T3: a body that can be sent once is not replayed; the 401 is the result")
    func oneShotBody() async throws {
        let scene = AuthScene(answering: false) { $0.callMiddlewares = [OneShot()] }
        scene.network.on(.post, "/notes") { .status(401) }
        try await scene.clock.runTest {
            await scene.tokens.signIn(scene.server.signIn("ann"))
            let error = await failure { () async throws(ServiceError) in
                try await scene.client.run(Endpoint<NoContent>.post("notes"))
            }
            #expect(error?.status == 401)
        }
        #expect(scene.network.sent.map(\.body) == [Data("once".utf8)])
        #expect(scene.server.refreshes.isEmpty)
    }

    @Test("T3: a POST is replayed with its body, once")
    func body() async throws {
        let scene = AuthScene(answering: false)
        scene.network.on(.post, "/notes") { .response(scene.server.answer($0)) }
        try await scene.clock.runTest {
            await scene.tokens.signIn(scene.server.signIn("ann"))
            scene.server.refuseAccess(of: "ann")
            let body = RequestBody.data(Data("again".utf8), contentType: "text/plain")
            let name = try await scene.client.run(Endpoint<String>.post("notes", body: body))
            #expect(name == "ann")
        }
        #expect(scene.network.sent.map(\.body) == [Data("again".utf8), Data("again".utf8)])
    }

    @Test("a header of the call itself is not changed, and its 401 triggers no refresh")
    func ownHeader() async throws {
        let scene = AuthScene(answering: false)
        scene.network.on(.get, "/me") { .status(401) }
        try await scene.clock.runTest {
            await scene.tokens.signIn(scene.server.signIn("ann"))
            let endpoint = Endpoint<String>.get("me", headers: ["Authorization": "Basic abc"])
            let error = await failure { () async throws(ServiceError) in try await scene.client.run(endpoint) }
            #expect(error?.status == 401)
        }
        #expect(scene.network.sent.first?.request.headers["Authorization"] == "Basic abc")
        #expect(scene.server.refreshes.isEmpty)
    }
}

/// Gives every call a body that can be streamed once.
private struct OneShot: Middleware {
    func intercept(_ request: HTTPRequest, _ context: CallContext, next: Next) async throws -> HTTPResponse {
        var request = request
        let (chunks, continuation) = HTTPBody.Chunks.makeStream()
        continuation.yield(Data("once".utf8))
        continuation.finish()
        request.body = .stream(chunks)
        return try await next(request, context)
    }
}
