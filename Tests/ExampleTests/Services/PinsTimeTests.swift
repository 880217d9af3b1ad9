import Errand
import ErrandTestSupport
import ErrandTesting
import ExampleServices
import Testing

@Suite("Pins, in virtual time", .timeLimit(.minutes(10))) struct PinsTimeTests {
    private static let user =
        #"{"user_id": 1, "user_name": "ann", "full_name": "Ann", "#
        + #""created_at": "2026-01-01T00:00:00Z", "nav_link": "/users/1"}"#

    private let clock = TestClock()
    private let network = script()
    private let service: Pins.Service

    init() {
        service = Pins.Service(
            ServerEnvironment(name: "pins", baseURL: "https://pins.test"), clientID: "app", clientSecret: "secret",
            time: clock,
            scripted(network, clock))
    }

    @Test("a token that ends while its user is away is replaced with the next call")
    func renewed() async throws {
        let token = #"{"access_token": "a1", "refresh_token": "r1", "expires_in": 60, "token_type": "Bearer"}"#
        network.on(.post, "/oauth/access_token", .json(token), .json(token.replacing("1\"", with: "2\"")))
        network.on(.get, "/users/self", .json(Self.user).times(2))
        try await clock.run {
            _ = try await service.signIn(name: "ann", password: "p")
            try await clock.sleep(for: .seconds(61))
            #expect(try await service.user().userName == "ann")
        }
        #expect(
            network.sent.compactMap { $0.request.headers["Authorization"] }.filter { $0.hasPrefix("Bearer") }
                == ["Bearer a1", "Bearer a2"])
    }

    @Test("a call that is cancelled while its token is replaced ends at once; the next has the new token")
    func cancelledInRefresh() async throws {
        let token = #"{"access_token": "a1", "refresh_token": "r1", "expires_in": 60, "token_type": "Bearer"}"#
        network.on(
            .post, "/oauth/access_token", .json(token), .json(token.replacing("1\"", with: "2\"")).after(.seconds(5)))
        network.on(.get, "/users/self", .json(Self.user).times(2))
        try await clock.run {
            _ = try await service.signIn(name: "ann", password: "p")
            try await clock.sleep(for: .seconds(61))
            let begin = clock.now
            let call = Task(executorPreference: clock.executor) {
                await failure { () async throws(ServiceError) in try await service.user() }
            }
            try await clock.sleep(for: .seconds(1))
            call.cancel()
            #expect(await call.value == .cancelled)
            #expect(begin.duration(to: clock.now) == .seconds(1))
            try await clock.sleep(for: .seconds(4))
            #expect(try await service.user().userName == "ann")
            #expect(begin.duration(to: clock.now) == .seconds(5))
        }
        #expect(
            network.sent.compactMap { $0.request.headers["Authorization"] }.filter { $0.hasPrefix("Bearer") }
                == ["Bearer a1", "Bearer a2"])
    }

    @Test("a call whose token is refused is sent again with the new one")
    func replayed() async throws {
        let token = #"{"access_token": "a1", "refresh_token": "r1", "token_type": "Bearer"}"#
        network.on(.post, "/oauth/access_token", .json(token), .json(token.replacing("1\"", with: "2\"")))
        network.on(.get, "/users/self", .json(Self.user), .status(401), .json(Self.user))
        try await clock.run {
            _ = try await service.signIn(name: "ann", password: "p")
            #expect(try await service.user().userName == "ann")
        }
        #expect(
            network.sent.compactMap { $0.request.headers["Authorization"] }.filter { $0.hasPrefix("Bearer") }
                == ["Bearer a1", "Bearer a1", "Bearer a2"])
    }

    @Test("a shutdown ends a sign-in at once; later ones fail")
    func shutdown() async throws {
        network.on(.post, "/oauth/access_token", .silence)
        try await clock.run {
            let call = Task(executorPreference: clock.executor) {
                await failure { () async throws(ServiceError) in try await service.signIn(name: "ann", password: "p") }
            }
            try await clock.sleep(for: .seconds(1))
            await service.shutdown()
            #expect(await call.value == .cancelled)
            #expect(clock.elapsed == .seconds(1))
            let later = await failure { () async throws(ServiceError) in
                try await service.signIn(name: "ann", password: "p")
            }
            guard case .invalidRequest(let problem) = later else { throw try #require(later) }
            #expect(problem.subject == .clientShutDown)
        }
    }

    @Test("T18: a shutdown ends the calls, and finishes a refresh, whose token is saved")
    func shutdownDuringRefresh() async throws {
        let token = #"{"access_token": "a1", "refresh_token": "r1", "expires_in": 60, "token_type": "Bearer"}"#
        scriptSignIn(answering: token)
        network.on(.post, "/oauth/access_token", .json(token.replacing("1\"", with: "2\"")).after(.seconds(5)))
        try await clock.run {
            _ = try await service.signIn(name: "ann", password: "p")
            try await clock.sleep(for: .seconds(61))
            let begin = clock.now
            let call = Task(executorPreference: clock.executor) {
                (await failure { () async throws(ServiceError) in try await service.user() }, clock.now)
            }
            try await clock.sleep(for: .seconds(1))
            await service.shutdown()
            #expect(begin.duration(to: clock.now) == .seconds(5))
            let (error, ended) = await call.value
            #expect(error == .cancelled && begin.duration(to: ended) == .seconds(1))
            let kept = try await service.tokens.token()
            #expect(kept.accessToken == "a2" && kept.refreshToken == "r2")
        }
    }

    @Test("ten seconds are the limit of a request")
    func timeout() async throws {
        network.on(.post, "/oauth/access_token", .silence)
        await clock.run {
            let error = await failure { () async throws(ServiceError) in
                try await service.signIn(name: "ann", password: "p")
            }
            #expect(error == .timedOut(Timeout(.attempt, limit: .seconds(10), phase: .waitingForResponse)))
        }
    }

    @Test("a sign-in that is cancelled leaves no session, in whichever stage", arguments: [1, 3])
    func cancelled(second: Int) async throws {
        let token = #"{"access_token": "a1", "token_type": "Bearer"}"#
        network.on(.post, "/oauth/access_token", .json(token).after(.seconds(2)))
        if second == 3 { network.on(.get, "/users/self", .json(Self.user).after(.seconds(2))) }
        try await clock.run {
            let signIn = Task(executorPreference: clock.executor) {
                await failure { () async throws(ServiceError) in try await service.signIn(name: "ann", password: "p") }
            }
            try await clock.sleep(for: .seconds(second))
            signIn.cancel()
            #expect(await signIn.value == .cancelled)
            #expect(await service.tokens.isSignedIn == false)
        }
    }

    private func scriptSignIn(answering token: String) {
        network.on(.post, "/oauth/access_token", .json(token))
        network.on(.get, "/users/self", .json(Self.user))
    }

    private func scriptSignIn(_ name: String, after pause: Duration = .zero, user reply: ScriptedReply) {
        network.on(.post, "/oauth/access_token", .json(#"{"access_token": "\#(name)"}"#).after(pause))
        network.on(.get, "/users/self", reply)
    }

    @Test("a sign-in that fails half-way leaves the session that was there")
    func halfSignIn() async throws {
        scriptSignIn("a", user: .json(Self.user))
        scriptSignIn("b", user: .status(500))
        _ = try await service.signIn(name: "ann", password: "p")
        let half = await failure { () async throws(ServiceError) in
            try await service.signIn(name: "ben", password: "p")
        }
        #expect(half?.status == 500)
        #expect(try await service.tokens.token().accessToken == "a")
    }

    @Test("of two who sign in at once, neither gets the other's account")
    func twoSignIns() async throws {
        let ben = Self.user.replacing("\"ann\"", with: "\"ben\"")
        scriptSignIn("a", after: .seconds(1), user: .json(Self.user).after(.seconds(4)))
        scriptSignIn("b", after: .seconds(1), user: .json(ben).after(.seconds(1)))
        await clock.run {
            async let first = Result { () async throws(ServiceError) in
                try await service.signIn(name: "ann", password: "p")
            }
            try? await clock.sleep(for: .seconds(2))
            async let second = Result { () async throws(ServiceError) in
                try await service.signIn(name: "ben", password: "p")
            }
            for (outcome, name, token) in [(await first, "ann", "a"), (await second, "ben", "b")] {
                let account = try? outcome.get()
                #expect(account?.user.userName == name && account?.token.accessToken == token)
            }
            #expect(await (try? service.tokens.token())?.accessToken == "a")
        }
    }
}
