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
        guard case .decodingFailed(let problem) = error else { throw try #require(error) }
        #expect(problem.description.contains("HTML"))
        let strict = Central(settings) {
            overTheWire(&$0)
            $0.acceptedContentTypes = ["application/json"]
        }
        server.fail(.mislabelled, on: "/central/authenticate")
        let refused = await failure { () async throws(ServiceError) in
            try await strict.authenticate(email: ann.email, password: ann.password)
        }
        guard case .decodingFailed = refused else { throw try #require(refused) }
    }

    @Test("all calls are logged in one place, without a secret")
    func log() async throws {
        let central = central()
        try await central.authenticate(email: ann.email, password: ann.password)
        _ = try await central.checkToken()
        let token = try await central.tokens.token().access
        var told = ""
        for await line in central.log {
            told += line + "\n"
            if line.contains("GET token  succeeded") { break }
        }
        #expect(told.contains("POST authenticate  answered 200"))
        #expect(!told.contains(token) && !told.contains(ann.password))
    }

    @Test("every failure passes one place, whoever has called")
    func failures() async throws {
        let central = central()
        var failures = central.failures.makeAsyncIterator()
        #expect(await central.start(Endpoint<Central.Account>.get("token")).value == .failure(.signInRequired))
        #expect(await failures.next() == .signInRequired)
        server.fail(.status(503), on: "/central/authenticate")
        _ = await failure { () async throws(ServiceError) in
            try await central.authenticate(email: ann.email, password: ann.password)
        }
        #expect(await failures.next()?.status == 503)
    }

    @Test("what fails before a call begins passes the same place")
    func earlyFailures() async throws {
        let central = central()
        var failures = central.failures.makeAsyncIterator()
        _ = await failure { () async throws(ServiceError) in
            try await central.authenticate(email: ann.email, password: "")
        }
        #expect(await failures.next()?.alertText == "Email and Password Required")
        _ = await failure { () async throws(ServiceError) in try await central.checkToken() }
        #expect(await failures.next()?.alertText == "Invalid Token")
    }
}

@Suite("Central, in virtual time") struct CentralTimeTests {
    private let clock = TestClock()
    private let network = script()
    private let endpoint = Endpoint<Int>.get("x").authentication(.none)

    private func central() -> Central {
        Central(Central.Settings(host: "central.test"), time: clock, scripted(network, clock))
    }

    @Test("scheme, host, port, path and version are settings too")
    func everySetting() async throws {
        network.on(.get, "https://central.test/x?version=1.0&device_type=phone", .json("1"))
        network.on(.get, "http://127.0.0.1:8080/v2/x?version=2.0&device_type=phone", .json("2"))
        let central = central()
        #expect(try await central.run(endpoint) == 1)
        await central.change {
            ($0.scheme, $0.host, $0.port, $0.path) = ("http", "127.0.0.1", 8080, "/v2")
            $0.version = "2.0"
        }
        #expect(try await central.run(endpoint) == 2)
    }

    @Test("a call outlives the view that wanted it, if it was started for that")
    func outlives() async throws {
        network.on(.get, "/x", .json("1").after(.seconds(2)).times(2))
        let central = central()
        let view = Task { await central.start(endpoint).value }
        let bound = Task { await failure { () async throws(ServiceError) in try await central.run(endpoint) } }
        await clock.sleepers(atLeast: 2)
        view.cancel()
        bound.cancel()
        #expect(await bound.value == .cancelled)
        clock.advance(by: .seconds(2))
        #expect(await view.value == .success(1))
    }

    @Test("a call that was cancelled is no failure to alert anybody of")
    func cancelledIsNoFailure() async throws {
        network.on(.get, "/x", .json("1").after(.seconds(2)), .status(503))
        let central = central()
        let call = Task { await failure { () async throws(ServiceError) in try await central.run(endpoint) } }
        await clock.sleepers(atLeast: 1)
        call.cancel()
        #expect(await call.value == .cancelled)
        _ = await failure { () async throws(ServiceError) in try await central.run(endpoint) }
        var failures = central.failures.makeAsyncIterator()
        #expect(await failures.next()?.status == 503)
    }

    @Test("the indicator is shown around calls, whatever is changed meanwhile")
    func activity() async throws {
        network.on(.get, "/x", .json("1").after(.seconds(1)).times(2))
        let central = central()
        try await clock.run {
            let shown = Task(executorPreference: clock.executor) {
                await central.activity.prefix(4).reduce(into: []) { $0.append($1) }
            }
            async let first = central.run(endpoint)
            try await clock.sleep(for: .milliseconds(500))
            await central.change { $0.device = .tablet }
            async let second = central.run(endpoint)
            _ = try await (first, second)
            #expect(await shown.value == [1, 2, 1, 0])
        }
    }

    @Test("fewer than five requests go out in any second, after a change of the settings too")
    func rate() async throws {
        network.on(.get, "/x?version=1.0&device_type=phone", .json("1").times(4))
        network.on(.get, "/x?version=1.0&device_type=tablet", .json("1").times(4))
        let central = central()
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
