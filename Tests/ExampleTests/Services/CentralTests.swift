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

    @Test(
        "any refusal of the token signs out, and no other failure does",
        arguments: [(401, false), (403, false), (404, true), (410, true), (429, true), (500, true)])
    func refusals(status: Int, staysSignedIn: Bool) async throws {
        let central = central()
        try await central.authenticate(email: ann.email, password: ann.password)
        server.fail(.status(status), on: "/central/token")
        let error = await failure { () async throws(ServiceError) in try await central.checkToken() }
        #expect(error?.status == status)
        #expect(await central.tokens.isSignedIn == staysSignedIn)
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
        server.fail(.mislabeled, on: "/central/authenticate")
        try await central.authenticate(email: ann.email, password: ann.password)
        server.fail(.html, on: "/central/token")
        let error = await failure { () async throws(ServiceError) in try await central.checkToken() }
        guard case .decodingFailed(let problem) = error else { throw try #require(error) }
        #expect(problem.description.contains("HTML"))
        let strict = Central(settings) {
            overTheWire(&$0)
            $0.acceptedContentTypes = ["application/json"]
        }
        server.fail(.mislabeled, on: "/central/authenticate")
        let refused = await failure { () async throws(ServiceError) in
            try await strict.authenticate(email: ann.email, password: ann.password)
        }
        guard case .decodingFailed = refused else { throw try #require(refused) }
    }

    @Test("all calls are logged in one place, without a secret")
    func log() async throws {
        let central = central()
        let log = central.log
        try await central.authenticate(email: ann.email, password: ann.password)
        _ = try await central.checkToken()
        let token = try await central.tokens.token().accessToken
        var reported = ""
        for await line in log {
            reported += line + "\n"
            if line.contains("GET token  succeeded") { break }
        }
        #expect(reported.contains("POST authenticate  answered 200"))
        #expect(!reported.contains(token) && !reported.contains(ann.password))
    }

    @Test("every failure passes one place, whichever call failed")
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

    @Test("what fails before a call begins passes the same place, and is logged")
    func earlyFailures() async throws {
        let central = central()
        var failures = central.failures.makeAsyncIterator()
        let log = central.log
        _ = await failure { () async throws(ServiceError) in
            try await central.authenticate(email: ann.email, password: "")
        }
        #expect(await failures.next()?.alertText == "Email and Password Required")
        _ = await failure { () async throws(ServiceError) in try await central.checkToken() }
        #expect(await failures.next()?.alertText == "Invalid Token")
        await central.shutdown()
        let lines = await log.reduce(into: []) { $0.append($1) }
        #expect(
            lines.map { $0.prefix { $0 != ":" } } == [
                "POST authenticate  ended before it was sent", "GET token  ended before it was sent",
            ])
        #expect(lines.first?.contains("Email and Password Required") == true)
    }

    @Test("a change of the settings keeps the connections")
    func keptConnections() async throws {
        let central = central()
        try await central.authenticate(email: ann.email, password: ann.password)
        for device in Central.Settings.Device.allCases {
            await central.change { $0.device = device }
            _ = try await central.checkToken()
        }
        #expect(server.received.count == 3)
        #expect(server.loopback.connections == 1)
        await central.shutdown()
        await server.loopback.connectionsClosed()
    }
}
