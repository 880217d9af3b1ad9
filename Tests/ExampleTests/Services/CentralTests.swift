import Errand
import ErrandTesting
import ExampleServer
import ExampleServices
import Testing

@Suite("Central, over real HTTP") struct CentralTests {
    private let server: ExampleServer
    private let ann = ExampleData.ann

    init() throws {
        server = try ExampleServer { $0.requestLimit = nil }
    }

    private func central(_ persistence: any TokenPersistence = .memory) -> Central {
        Central(settings, persistence: persistence, overTheWire)
    }

    private var settings: Central.Settings {
        var settings = Central.Settings(host: "127.0.0.1")
        settings.scheme = "http"
        settings.port = server.loopback.port
        settings.path = "/central"
        return settings
    }

    @Test("signed in, requests carry the JWT; at the next launch the saved token lets the user in")
    func signIn() async throws {
        let disk = MemoryTokenPersistence()
        let first = central(disk)
        try await first.authenticate(email: ann.email, password: ann.password)
        #expect(try await first.checkToken().email == ann.email)
        let later = central(disk)
        #expect(try await later.checkToken().id == ann.id)
        let signed = server.received.filter { $0.path.hasSuffix("/token") }
        #expect(signed.count == 2)
        #expect(signed.allSatisfy { $0.headers["Authorization"]?.hasPrefix("JWT eyJ") == true })
    }

    @Test("without an address or a password nothing is sent", arguments: [("", "x"), ("a@b.c", ""), ("", "")])
    func missing(email: String, password: String) async throws {
        let error = await failure { () async throws(ServiceError) in
            try await central().authenticate(email: email, password: password)
        }
        #expect(error?.alertText == "Email and Password Required")
        #expect(server.received.isEmpty)
    }

    @Test("without a saved token nothing is sent")
    func noToken() async throws {
        let error = await failure { () async throws(ServiceError) in try await central().checkToken() }
        #expect(error == .signInRequired && error?.alertText == "Invalid Token")
        #expect(server.received.isEmpty)
    }

    @Test("a token that the server refuses signs out, with its reason and status")
    func refusedToken() async throws {
        let central = central()
        try await central.authenticate(email: ann.email, password: ann.password)
        server.endSessions()
        let error = await failure { () async throws(ServiceError) in try await central.checkToken() }
        #expect(error?.refusal?.status == 401)
        #expect(error?.refusal?.message?.isEmpty == false)
        #expect(await central.tokens.isSignedIn == false)
    }

    @Test("a refused sign-in has the server's words; without any, alerts have their own")
    func words() async throws {
        let central = central()
        let refused = await failure { () async throws(ServiceError) in
            try await central.authenticate(email: ann.email, password: "no")
        }
        #expect(refused?.refusal?.status == 401)
        #expect(refused?.alertText == refused?.refusal?.message)
        server.fail(.status(500, message: ""), on: "/central/authenticate")
        let empty = await failure { () async throws(ServiceError) in
            try await central.authenticate(email: ann.email, password: ann.password)
        }
        #expect(empty?.alertText == "Server Error. Please try again later")
    }

    @Test("a setting is changed in one place, and every later call follows")
    func settingsRule() async throws {
        let central = central()
        try await central.authenticate(email: ann.email, password: ann.password)
        await central.change {
            $0.device = .tablet
            $0.identifiers = ["installation": "i-7"]
        }
        _ = try await central.checkToken()
        let (first, second) = (server.received[0], server.received[1])
        #expect(first.target.contains("device_type=phone") && first.target.contains("version=1.0"))
        #expect(second.target.contains("device_type=tablet") && second.target.contains("installation=i-7"))
        #expect(second.target.contains("version=1.0"))
        let other = try ExampleServer { $0.requestLimit = nil }
        let port = other.loopback.port
        await central.change { $0.port = port }
        #expect(await failure { () async throws(ServiceError) in try await central.checkToken() }?.status == 401)
        #expect(other.received.count == 1)
    }

    @Test("JSON that calls itself a page is read; a real page is an error that says so")
    func labels() async throws {
        let central = central()
        server.fail(.mislabelled, on: "/central/authenticate")
        try await central.authenticate(email: ann.email, password: ann.password)
        server.fail(.html, on: "/central/token")
        let error = await failure { () async throws(ServiceError) in try await central.checkToken() }
        guard case .undecodable(let problem) = error else { throw try #require(error) }
        #expect(problem.description.contains("HTML"))
    }

    @Test("every failure passes one place, whoever has called; a call outlives the view that wanted it")
    func failures() async throws {
        let central = central()
        var failures = central.failures.makeAsyncIterator()
        do {
            let view = central.start(Endpoint<Central.Account>.get("token"))
            #expect(await view.value == .failure(.signInRequired))
        }
        #expect(await failures.next() == .signInRequired)
        server.fail(.status(503), on: "/central/authenticate")
        _ = await failure { () async throws(ServiceError) in
            try await central.authenticate(email: ann.email, password: ann.password)
        }
        #expect(await failures.next()?.status == 503)
    }
}

@Suite("Central, in virtual time") struct CentralTimeTests {
    @Test("fewer than five requests go out in any second, after a change of the settings too")
    func rate() async throws {
        let clock = TestClock()
        let network = script()
        network.on(.get, "/x?version=1.0&device_type=phone", .json("1").times(4))
        network.on(.get, "/x?version=1.0&device_type=tablet", .json("1").times(4))
        let central = Central(Central.Settings(host: "central.test"), time: clock) {
            $0.transport = network
            $0.retry = .never
        }
        let endpoint = Endpoint<Int>.get("x").authentication(.none)
        try await clock.run {
            let start = clock.now
            for device in [Central.Settings.Device.phone, .tablet] {
                await central.change { $0.device = device }
                try await withThrowingTaskGroup(of: Int.self) { group in
                    for _ in 0..<4 { group.addTask { try await central.run(endpoint) } }
                    for try await _ in group {}
                }
            }
            #expect(start.duration(to: clock.now) >= .seconds(1))
        }
        let sent = network.sent.map(\.at)
        #expect(sent.count == 8)
        for index in 4..<8 { #expect(sent[index - 4].duration(to: sent[index]) >= .seconds(1)) }
    }
}
