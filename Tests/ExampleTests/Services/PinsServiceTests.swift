import Errand
import ErrandTestSupport
import ErrandTesting
import ExampleServer
import ExampleServices
import Foundation
import Testing

@Suite("Pins, over real HTTP") struct PinsServiceTests {
    private let server: ExampleServer
    private let ann = ExampleData.ann

    init() throws {
        server = try ExampleServer { $0.requestLimit = nil }
    }

    private func service(
        id: String = ExampleData.clientID, secret: String = ExampleData.clientSecret,
        persistence: any TokenPersistence = .memory
    ) -> Pins.Service {
        Pins.Service(
            ServerEnvironment("pins", server.pinsURL), clientID: id, clientSecret: secret, persistence: persistence,
            overTheWire)
    }

    private func signedIn() async throws -> Pins.Service {
        let service = service()
        _ = try await service.signIn(name: ann.userName, password: ann.password)
        return service
    }

    @Test("signing in brings the user and the token; signing out forgets both")
    func account() async throws {
        let service = service()
        let account = try await service.signIn(name: ann.userName, password: ann.password)
        #expect(account.user.userID == ann.id && account.user.userName == ann.userName)
        #expect(account.token.refresh != nil)
        #expect(try await service.user() == account.user)
        await service.signOut()
        let sent = server.received.count
        #expect(await failure { () async throws(ServiceError) in try await service.user() } == .signInRequired)
        #expect(await failure { () async throws(ServiceError) in try await service.pin("x") } == .signInRequired)
        #expect(server.received.count == sent)
    }

    @Test("without an id or a secret of the app nothing is sent", arguments: [("", "secret"), ("id", "")])
    func noClient(id: String, secret: String) async throws {
        let service = service(id: id, secret: secret)
        let error = await failure { () async throws(ServiceError) in
            try await service.signIn(name: ann.userName, password: ann.password)
        }
        guard case .invalidRequest = error else { throw try #require(error) }
        #expect(server.received.isEmpty)
    }

    @Test("a refused sign-in and a broken connection are told apart, and neither leaves a session")
    func notSignedIn() async throws {
        let service = service()
        let refused = await failure { () async throws(ServiceError) in
            try await service.signIn(name: ann.userName, password: "no")
        }
        #expect(refused?.refusal?.status == 400)
        #expect(refused?.refusal?.message?.isEmpty == false)
        server.fail(.reset, on: "/pins/oauth")
        let broken = await failure { () async throws(ServiceError) in
            try await service.signIn(name: ann.userName, password: ann.password)
        }
        guard case .transport(let transport) = broken else { throw try #require(broken) }
        #expect(transport.kind == .reset)
        server.fail(.status(500), on: "/pins/users/self")
        let half = await failure { () async throws(ServiceError) in
            try await service.signIn(name: ann.userName, password: ann.password)
        }
        #expect(half?.status == 500)
        #expect(await service.tokens.isSignedIn == false)
    }

    @Test("an expired token is replaced once for all, and nobody notices")
    func expired() async throws {
        let service = try await signedIn()
        var token = try await service.tokens.token()
        token.expiry = Date(timeIntervalSinceNow: -1)
        await service.tokens.signIn(token)
        let users = try await withThrowingTaskGroup(of: Pins.User.self) { group in
            for _ in 0..<20 { group.addTask { try await service.user() } }
            return try await group.reduce(into: Set<Pins.User>()) { $0.insert($1) }
        }
        #expect(users.map(\.userID) == [ann.id])
        #expect(server.received.count { $0.path.hasSuffix("oauth/access_token") } == 2)
    }

    @Test("a refused refresh ends in one event")
    func refusedRefresh() async throws {
        let service = try await signedIn()
        var events = service.tokens.events.makeAsyncIterator()
        server.endSessions()
        let errors = await withTaskGroup(of: ServiceError?.self) { group in
            for _ in 0..<5 {
                group.addTask { await failure { () async throws(ServiceError) in try await service.user() } }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(errors.allSatisfy { if case .sessionExpired = $0 { true } else { $0 == .signInRequired } })
        guard case .expired = await events.next() else {
            Issue.record("no end of the session was told")
            return
        }
        await service.signOut()
        _ = try await service.signIn(name: ann.userName, password: ann.password)
        #expect(await events.next() == .signedIn)
    }

    @Test("following is mutual only if both want it, and lists are read by the last id")
    func friendships() async throws {
        let service = try await signedIn()
        var followers: [Pins.User.ID] = []
        for try await user in service.followers(of: ann.id) { followers.append(user.userID) }
        #expect(followers.count > 40 && followers == followers.sorted(by: >) && Set(followers).count == followers.count)
        let cleo = ExampleData.cleo.id
        try await service.follow(cleo)
        var following: [Pins.User.ID] = []
        for try await user in service.following(of: ann.id) { following.append(user.userID) }
        #expect(following.contains(cleo))
        try await service.unfollow(cleo)
        following = []
        for try await user in service.following(of: ann.id) { following.append(user.userID) }
        #expect(!following.contains(cleo))
    }

    @Test("pins and comments have their user with them")
    func wall() async throws {
        let service = try await signedIn()
        let pin = try await service.pin("A bench by the sea")
        #expect(pin.user.userID == ann.id && pin.title == "A bench by the sea")
        #expect(try await service.pins(of: ann.id).map(\.pinID).contains(pin.pinID))
        let comment = try await service.comment("Take me there", on: pin.id)
        #expect(comment.user.userID == ann.id)
        #expect(try await service.comments(on: pin.id) == [comment])
        var copy = comment
        copy.text = "Or me"
        #expect(comment.text == "Take me there" && copy.user == comment.user)
        try await service.remove(pin.id)
        #expect(try await !service.pins(of: ann.id).map(\.pinID).contains(pin.pinID))
        #expect(
            await failure { () async throws(ServiceError) in try await service.comments(on: pin.id) }?.status == 404)
    }

    @Test("an account and a list of pins survive a restart; what is damaged is an error")
    func archived() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "pins-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let service = service()
        let account = try await service.signIn(name: ann.userName, password: ann.password)
        let pins = try await service.pins(of: ann.id)
        let accountFile = folder.appending(path: "account").path
        try await ValueArchive<Pins.Account>(path: accountFile).save(account)
        try await ValueArchive<[Pins.Pin]>(path: folder.appending(path: "pins").path).save(pins)
        #expect(try await ValueArchive<Pins.Account>(path: accountFile).load() == account)
        #expect(try await ValueArchive<[Pins.Pin]>(path: folder.appending(path: "pins").path).load() == pins)
        try Data("{".utf8).write(to: URL(filePath: accountFile))
        await #expect(throws: ArchiveError.self) { try await ValueArchive<Pins.Account>(path: accountFile).load() }
    }
}

@Suite("Pins, in virtual time") struct PinsTimeTests {
    private static let user =
        #"{"user_id": 1, "user_name": "ann", "full_name": "Ann", "#
        + #""created_at": "2026-01-01T00:00:00Z", "nav_link": "/users/1"}"#

    private let clock = TestClock()
    private let network = script()
    private let service: Pins.Service

    init() {
        service = Pins.Service(
            ServerEnvironment("pins", "https://pins.test"), clientID: "app", clientSecret: "secret", time: clock,
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

    @Test("a call that is told its token is no longer good goes out again with the new one")
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
        #expect(try await service.tokens.token().access == "a")
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
                #expect(account?.user.userName == name && account?.token.access == token)
            }
            #expect(await (try? service.tokens.token())?.access == "a")
        }
    }
}
