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
            ServerEnvironment(name: "pins", baseURL: server.pinsURL), clientID: id, clientSecret: secret,
            persistence: persistence,
            overTheWire)
    }

    private func all<List: AsyncSequence>(_ list: List) async throws -> [List.Element] {
        var elements: [List.Element] = []
        for try await element in list { elements.append(element) }
        return elements
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
        #expect(account.token.refreshToken != nil)
        #expect(try await service.user() == account.user)
        await service.signOut()
        let sent = server.received.count
        #expect(await failure { () async throws(ServiceError) in try await service.user() } == .signInRequired)
        #expect(await failure { () async throws(ServiceError) in try await service.addPin("x") } == .signInRequired)
        #expect(server.received.count == sent)
    }

    @Test("a picture is sent as a form, with its progress, to a pin of one's own")
    func picture() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "errand-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (path, size) = (folder.appending(path: "s\"ea.png").path, 300_000)
        try Data(count: size).write(to: URL(fileURLWithPath: path))
        let service = try await signedIn()
        let pin = try await service.addPin("Sea")
        #expect(pin.picture == nil)
        let reported = Noted<[TransferProgress]>([])
        let changed = try await service.addPicture(path, to: pin.pinID) { progress in
            reported.update { $0.append(progress) }
        }
        #expect(changed.picture?.name == "s%22ea.png" && changed.picture?.type == "image/png")
        #expect(changed.picture?.bytes == size)
        #expect(try await service.pin(pin.pinID) == changed)
        #expect(reported.value.last?.fraction == 1)
        let text = folder.appending(path: "a.txt").path
        try Data("a".utf8).write(to: URL(fileURLWithPath: text))
        let error = await failure { () async throws(ServiceError) in try await service.addPicture(text, to: pin.pinID) }
        #expect(error?.status == 422)
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

    @Test("a refused sign-in and a broken connection are distinguished, and neither leaves a session")
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

    @Test("an expired token is replaced once for all, and no call fails")
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
            Issue.record("no end of the session was reported")
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

    @Test("pins and comments have their user with them, and are read alone, listed and removed")
    func wall() async throws {
        let service = try await signedIn()
        let pin = try await service.addPin("A bench by the sea")
        #expect(pin.user.userID == ann.id && pin.title == "A bench by the sea")
        #expect(try await service.pin(pin.id) == pin)
        #expect(try await all(service.pins(of: ann.id)).first == pin)
        let comment = try await service.addComment("Take me there", to: pin.id)
        #expect(comment.user.userID == ann.id && comment.userID == ann.id)
        #expect(comment.navLink == "/pins/\(pin.id)/comments/\(comment.id)")
        let second = try await service.addComment("Me too", to: pin.id)
        #expect(try await all(service.comments(on: pin.id)) == [second, comment])
        var copy = comment
        copy.text = "Or me"
        #expect(comment.text == "Take me there" && copy.user == comment.user)
        try await service.removeComment(comment.id, from: pin.id)
        #expect(try await all(service.comments(on: pin.id)) == [second])
        try await service.removePin(pin.id)
        let gone = await failure { () async throws(ServiceError) in try await service.pin(pin.id) }
        #expect(gone?.status == 404)
        #expect(try await !all(service.pins()).contains(pin))
    }

    @Test("all pins and all comments can be reached, page by page")
    func pages() async throws {
        let service = try await signedIn()
        let before = try await all(service.pins()).count
        for number in 1...25 { _ = try await service.addPin("Pin \(number)") }
        let hers = try await all(service.pins(of: ann.id))
        #expect(hers.prefix(25).map(\.title) == (1...25).reversed().map { "Pin \($0)" })
        #expect(hers.allSatisfy { $0.user.userID == ann.id })
        let everybodys = try await all(service.pins())
        #expect(everybodys.count == before + 25 && Set(everybodys.map(\.id)).count == everybodys.count)
        let pin = try #require(hers.first).id
        for number in 1...41 { _ = try await service.addComment("\(number)", to: pin) }
        #expect(try await all(service.comments(on: pin)).map(\.text) == (1...41).reversed().map { "\($0)" })
    }

    @Test("sign-ins and refreshes are among the events, and a shutdown ends the stream")
    func events() async throws {
        let service = service()
        let (first, second) = (service.diagnostics, service.diagnostics)
        _ = try await service.signIn(name: ann.userName, password: ann.password)
        var token = try await service.tokens.token()
        token.expiry = Date(timeIntervalSinceNow: -1)
        await service.tokens.signIn(token)
        _ = try await service.user()
        await service.shutdown()
        for stream in [first, second] {
            let sent = await stream.reduce(into: [String]()) { if case .sent = $1.kind { $0.append($1.endpoint) } }
            #expect(
                sent == [
                    "POST oauth/access_token", "GET users/self", "POST oauth/access_token", "GET users/self",
                ])
        }
    }

    @Test("only a wrong name or password counts as one")
    func wrongPassword() async throws {
        func refusal(by service: Pins.Service, name: String, _ password: String) async -> ServiceError? {
            await failure { () async throws(ServiceError) in try await service.signIn(name: name, password: password) }
        }
        #expect(await refusal(by: service(), name: ann.userName, "no")?.isWrongPassword == true)
        #expect(await refusal(by: service(), name: "nobody", ann.password)?.isWrongPassword == true)
        let stranger = await refusal(by: service(secret: "wrong"), name: ann.userName, ann.password)
        #expect(stranger?.refusal?.status == 401 && stranger?.isWrongPassword == false)
        for status in [400, 401, 403, 404] {
            server.fail(.status(status), on: "/pins/oauth")
            let other = await refusal(by: service(), name: ann.userName, ann.password)
            #expect(other?.status == status && other?.isWrongPassword == false)
        }
    }

    @Test("an account and a list of pins survive a restart; what is damaged is an error")
    func archived() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "pins-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let service = service()
        let account = try await service.signIn(name: ann.userName, password: ann.password)
        let pins = try await all(service.pins(of: ann.id))
        let accountFile = folder.appending(path: "account").path
        try await ValueArchive<Pins.Account>(path: accountFile).save(account)
        try await ValueArchive<[Pins.Pin]>(path: folder.appending(path: "pins").path).save(pins)
        #expect(try await ValueArchive<Pins.Account>(path: accountFile).load() == account)
        #expect(try await ValueArchive<[Pins.Pin]>(path: folder.appending(path: "pins").path).load() == pins)
        try Data("{".utf8).write(to: URL(filePath: accountFile))
        await #expect(throws: ArchiveError.self) { try await ValueArchive<Pins.Account>(path: accountFile).load() }
    }
}
