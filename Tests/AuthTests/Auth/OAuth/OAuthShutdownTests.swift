import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("OAuth: shutting down", .timeLimit(.minutes(10)))
struct OAuthShutdownTests {
    @Test("a shutdown ends a sign-in that waits for the user, and later ones open no page")
    func browser() async throws {
        let scene = try await SignInScene()
        let clock = scene.clock
        let opened = Noted(0)
        let browser = ScriptedBrowser { _ in
            opened.update { $0 += 1 }
            try await clock.sleep(until: .distantFuture, in: StopScope<ServiceError>())
            return ""
        }
        try await clock.runTest {
            let signIn = Task(executorPreference: clock.executor) {
                await failure { () async throws(ServiceError) in try await scene.oauth.signIn(using: browser) }
            }
            try await clock.sleep(for: .seconds(1))
            await scene.oauth.shutdown()
            #expect(await signIn.value == .cancelled)
            #expect(clock.elapsed == .seconds(1))
            let later = await failure { () async throws(ServiceError) in try await scene.oauth.signIn(using: browser) }
            #expect(later?.invalidSubject == .clientShutDown)
        }
        #expect(opened.value == 1)
    }

    @Test("a shutdown ends a sign-in whose browser returns an address all the same")
    func lateAddress() async throws {
        let scene = try await SignInScene()
        let browser = ScriptedBrowser { address in
            await scene.oauth.shutdown()
            return try scene.server.visit(address)
        }
        let error = await failure { () async throws(ServiceError) in try await scene.oauth.signIn(using: browser) }
        #expect(error == .cancelled)
    }

    @Test("a shutdown ends the wait for another device, and later ones send nothing")
    func device() async throws {
        let scene = try await SignInScene()
        let clock = scene.clock
        scene.server.answerOfUser = .leaves
        try await clock.runTest {
            let signIn = Task(executorPreference: clock.executor) {
                await failure { () async throws(ServiceError) in try await scene.oauth.signInOnAnotherDevice { _ in } }
            }
            try await clock.sleep(for: .seconds(12))
            await scene.oauth.shutdown()
            #expect(await signIn.value == .cancelled)
            #expect(clock.elapsed == .seconds(12))
            let later = await failure { () async throws(ServiceError) in
                try await scene.oauth.signInOnAnotherDevice { _ in }
            }
            #expect(later?.invalidSubject == .clientShutDown)
        }
        #expect(scene.forms.count == 2)
    }

    @Test("T18: a shutdown lets a refresh finish, whose token is saved; later requests fail")
    func refresh() async throws {
        let (clock, network, disk) = (TestClock(), scripted(), MemoryTokenPersistence())
        let answer = ScriptedReply.json(#"{"access_token":"new","refresh_token":"r2"}"#)
        network.on(.post, "https://login.test/token", answer.after(.seconds(3)))
        let metadata = OAuth.ServerMetadata(tokenEndpoint: "https://login.test/token")
        let oauth = OAuth(metadata, client: .public(id: "app")) {
            $0.transport = network
            $0.time = clock
            $0.rateLimit = .unlimited
        }
        let tokens = TokenStore(persistence: disk, time: clock) { try await oauth.refresh($0) }
        try await clock.runTest {
            await tokens.signIn(Token(accessToken: "old", refreshToken: "r1", expiry: clock.date))
            let call = Task(executorPreference: clock.executor) { try await tokens.token() }
            try await clock.sleep(for: .seconds(1))
            await oauth.shutdown()
            await tokens.waitUntilSaved()
            #expect(clock.elapsed == .seconds(3))
            #expect(try await call.value.accessToken == "new")
            #expect(disk.load()?.token.refreshToken == "r2")
            let later = await failure { () async throws(ServiceError) in try await oauth.token(.ann) }
            #expect(later?.invalidSubject == .clientShutDown)
        }
        #expect(network.sent.count == 1)
    }

    @Test("a client that was passed goes on after a shutdown")
    func passed() async throws {
        let oauth = OAuthScene(.json(OAuthScene.answer)).oauth
        await oauth.shutdown()
        #expect(try await oauth.token(.ann).accessToken == "a")
    }
}

extension ServiceError {
    fileprivate var invalidSubject: InvalidRequest.Subject? {
        if case .invalidRequest(let invalid) = self { invalid.subject } else { nil }
    }
}
