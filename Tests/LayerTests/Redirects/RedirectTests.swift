import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("Redirects: followed hop by hop")
struct RedirectTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var status: Int
        var method: HTTPMethod
        var after: HTTPMethod
        var testDescription: String { "\(status) \(method) → \(after)" }
    }

    static let table: [Case] = [301, 302, 303, 307, 308].flatMap { status in
        [HTTPMethod.get, .head, .post, .put, .patch, .delete].map { method in
            let becomesGet =
                status == 303 && method != .head || (status == 301 || status == 302) && method == .post
            return Case(status: status, method: method, after: becomesGet ? .get : method)
        }
    }

    @Test("C52: the method and the body after each status", arguments: table)
    func methods(row: Case) async throws {
        let network = scripted()
        network.on(row.method, "/a") { .status(row.status, headers: ["Location": "/b?x=1"]) }
        network.on(row.after, "/b?x=1") { .status(204) }
        let hasBody = row.method != .get && row.method != .head
        var endpoint = Endpoint<NoContent>(row.method, "a", body: hasBody ? .json([1]) : nil)
        if hasBody {
            // The user may set a Content-Length if it is correct.
            endpoint.headers["Content-Length"] = "3"
            for name in ["Content-Encoding", "Content-Language", "Content-Location"] { endpoint.headers[name] = "x" }
        }
        _ = try await testClient(network, TestClock()).run(endpoint)
        let second = try #require(network.sent.last)
        let keepsBody = hasBody && row.after == row.method
        #expect(second.body == (keepsBody ? Data("[1]".utf8) : Data()))
        #expect((second.request.body != nil) == keepsBody)
        for name in ["Content-Type", "Content-Length", "Content-Encoding", "Content-Language", "Content-Location"] {
            #expect((second.request.headers[name] != nil) == keepsBody, "\(name)")
        }
        #expect(second.request.headers["Accept"] != nil)
        try network.verify()
    }

    @Test("other 3xx are final, and reported as a redirect that was not followed", arguments: [300, 305, 306, 399])
    func unfollowedStatuses(status: Int) async throws {
        let reply = ScriptedReply.status(status, headers: ["Location": "/b"])
        let error = try await outcome(reply, as: Int.self).failure
        guard case .rejected(let rejection) = error else { throw try #require(error) }
        #expect(rejection.status == status)
        #expect(rejection.description.contains("not followed"))
    }

    @Test(
        "C51: a redirect to a forbidden target is refused with its status and the reason",
        arguments: [
            ("http://api.test/b", "https to plain http"), ("http://other.test/b", "https to plain http"),
            ("file:///etc/passwd", "neither https nor http"), ("ftp://api.test/b", "neither https nor http"),
            ("javascript:alert(1)", "no host"), ("", "missing or empty"), (nil, "missing or empty"),
            ("https://", "no host"), ("https://api.test:99999/", "port"), ("/b%", "hexadecimal"),
            ("https://me:hunter2@api.test/b", "user name"), ("/b c", "a space"), ("\\\\evil.test", "backslash"),
        ] as [(String?, String)])
    func refused(location: String?, reason: String) async throws {
        let headers: HTTPHeaders = location.map { ["Location": $0] } ?? [:]
        let network = scripted()
        network.on(.get, "/a") { .status(302, headers: headers) }
        let client = testClient(network, TestClock())
        let error = try await #require(throws: ServiceError.self) { try await client.run(Endpoint<Int>.get("a")) }
        guard case .rejected(let rejection) = error else { throw error }
        #expect(rejection.status == 302)
        #expect(rejection.description.contains(reason), "\(rejection.description)")
        #expect(!rejection.description.contains("hunter2"))
        #expect(network.sent.count == 1)
    }

    @Test("C51: a body is sent to no other server; a redirected GET has none", arguments: [301, 302, 303, 307, 308])
    func bodyStays(status: Int) async throws {
        let network = scripted()
        network.on(.post, "/token") { .status(status, headers: ["Location": "https://other.test/token"]) }
        if status < 307 { network.on(.get, "https://other.test/token") { .status(204) } }
        let endpoint = Endpoint<NoContent>.post("token", body: .form(["password": "hunter2"]))
        let client = testClient(network, TestClock())
        let error = await failure { () async throws(ServiceError) in try await client.run(endpoint) }
        if status < 307 {
            #expect(error == nil)
        } else {
            guard case .rejected(let rejection) = error else { throw try #require(error) }
            #expect(rejection.status == status && rejection.description.contains("another server"))
        }
        #expect(network.sent.allSatisfy { $0.request.url.origin.host == "api.test" || $0.body.isEmpty })
        try network.verify()
    }

    @Test(
        "C51: a body is sent along if that is encrypted now, but only to the same host", arguments: [307, 308],
        ["api.test", "other.test"])
    func bodyIsEncrypted(status: Int, host: String) async throws {
        let network = scripted()
        network.on(.post, "http://api.test/a") { .status(status, headers: ["Location": "https://\(host)/a"]) }
        if host == "api.test" { network.on(.post, "https://api.test/a") { .status(204) } }
        let client = testClient(network, TestClock()) {
            $0.environment = ServerEnvironment(name: "plain", baseURL: "http://api.test")
            $0.allowsCleartext = true
        }
        let endpoint = Endpoint<NoContent>.post("a", body: .json([1]))
        let error = await failure { () async throws(ServiceError) in try await client.run(endpoint) }
        if host == "api.test" {
            #expect(error == nil)
            #expect(network.sent.last?.body == Data("[1]".utf8))
        } else {
            guard case .rejected(let rejection) = error else { throw try #require(error) }
            #expect(rejection.status == status && rejection.description.contains("another server"))
        }
        try network.verify()
    }

    @Test(
        "C51: from plain http on this machine to plain http elsewhere is refused after the send, with its status",
        arguments: [(303, HTTPMethod.post), (302, .get), (307, .get)])
    func toCleartext(status: Int, method: HTTPMethod) async throws {
        for allowsCleartext in [false, true] {
            let network = scripted()
            network.on(method, "http://localhost/a") { .status(status, headers: ["Location": "http://other.test/b"]) }
            if allowsCleartext { network.on(.get, "http://other.test/b") { .status(204) } }
            let client = testClient(network, TestClock()) {
                $0.environment = ServerEnvironment(name: "test", baseURL: "http://localhost")
                $0.allowsCleartext = allowsCleartext
            }
            let endpoint = Endpoint<NoContent>(method, "a")
            let error = await failure { () async throws(ServiceError) in try await client.run(endpoint) }
            if allowsCleartext {
                #expect(error == nil)
            } else {
                guard case .rejected(let rejection) = error else { throw try #require(error) }
                #expect(rejection.status == status && error?.mayHaveReachedServer == true)
                #expect(rejection.description.contains("http://other.test, which is not encrypted"))
            }
            try network.verify()
        }
    }

    @Test("C53: a loop is an error at the hop that would close it")
    func loop() async throws {
        let network = scripted()
        network.on(.get, "/a") { .status(302, headers: ["Location": "/b"]) }
        network.on(.get, "/b") { .status(302, headers: ["Location": "https://api.test/a#again"]) }
        let client = testClient(network, TestClock())
        let error = try await #require(throws: ServiceError.self) { try await client.run(Endpoint<Int>.get("a")) }
        #expect(error.description.contains("already requested"), "\(error)")
        #expect(error.status == 302)
        #expect(network.sent.count == 2)
    }

    @Test("C53: a redirect to itself that changes the method is no loop")
    func seeOther() async throws {
        let network = scripted()
        network.on(.post, "/a") { .status(303, headers: ["Location": "/a"]) }
        network.on(.get, "/a") { .json("7") }
        #expect(try await testClient(network, TestClock()).run(Endpoint<Int>.post("a")) == 7)
    }

    @Test("a Location header of 64 KiB is followed, and a longer one is an error", arguments: [0, 1])
    func longLocation(excess: Int) async throws {
        let network = scripted()
        let location = "/" + String(repeating: "a", count: (64 << 10) - 1 + excess)
        network.on(.get, "/0") { .status(302, headers: ["Location": location]) }
        if excess == 0 { network.on(.get, location) { .json("7") } }
        let client = testClient(network, TestClock())
        if excess == 0 {
            #expect(try await client.run(Endpoint<Int>.get("0")) == 7)
        } else {
            let error = try await #require(throws: ServiceError.self) { try await client.run(Endpoint<Int>.get("0")) }
            #expect(error.description.contains("its Location header is longer than 64 KiB"))
        }
    }

    @Test("C53: ten hops are followed, the eleventh is an error", arguments: [10, 11])
    func hops(count: Int) async throws {
        let network = scripted()
        for hop in 0..<10 { network.on(.get, "/\(hop)") { .status(302, headers: ["Location": "/\(hop + 1)"]) } }
        network.on(.get, "/10") {
            if count == 10 { .json("7") } else { .status(302, headers: ["Location": "/11"]) }
        }
        let client = testClient(network, TestClock())
        if count == 10 {
            #expect(try await client.run(Endpoint<Int>.get("0")) == 7)
        } else {
            let error = try await #require(throws: ServiceError.self) { try await client.run(Endpoint<Int>.get("0")) }
            #expect(error.status == 302)
            #expect(error.description.contains("the limit of 10 redirects was reached"), "\(error)")
        }
        #expect(network.sent.count == 11)
    }

    @Test(
        "C53: a relative Location is resolved against the URL of its own hop",
        arguments: [
            ("c", "/v1/users/c"), ("../c", "/v1/c"), ("/c", "/c"), ("?y=2", "/v1/users/b?y=2"),
            ("//api.test/c", "/c"), ("c#part", "/v1/users/c"), ("%63", "/v1/users/%63"),
        ])
    func relative(location: String, target: String) async throws {
        let network = scripted()
        network.on(.get, "/v1/a") { .status(307, headers: ["Location": "users/b?x=1"]) }
        network.on(.get, "/v1/users/b?x=1") { .status(307, headers: ["Location": location]) }
        network.on(.get, target) { .json("7") }
        let client = testClient(network, TestClock()) {
            $0.environment = ServerEnvironment(name: "test", baseURL: "https://api.test/v1")
        }
        #expect(try await client.run(Endpoint<Int>.get("a")) == 7)
        #expect(network.sent.last?.request.url.target == target)
    }

    @Test("every hop takes a permit of the limiter")
    func permits() async throws {
        let network = scripted()
        network.on(.get, "/a") { .status(302, headers: ["Location": "/b"]) }
        network.on(.get, "/b") { .json("7") }
        let clock = TestClock()
        let client = testClient(network, clock) { $0.rateLimit = .requests(1, per: .seconds(1)) }
        #expect(try await clock.run { try await client.run(Endpoint<Int>.get("a")) } == 7)
        #expect(network.sent.map(\.at) == [.zero, Instant(nanoseconds: 1_000_000_000)])
    }

    @Test("the request after a redirect goes to the head of the queue")
    func urgentHop() async throws {
        let (network, clock) = (scripted(), TestClock())
        network.on(.get, "/a") { ScriptedReply.status(302, headers: ["Location": "/b"]).after(.milliseconds(100)) }
        network.on(.get, "/b") { .json("7") }
        network.on(.get, "/c") { ScriptedReply.json("8").times(2) }
        let client = testClient(network, clock) { $0.rateLimit = .requests(1, per: .seconds(1)) }
        try await clock.run {
            async let redirected = client.run(Endpoint<Int>.get("a"))
            try await clock.sleep(for: .milliseconds(50))
            async let others = [client.run(Endpoint<Int>.get("c")), client.run(Endpoint<Int>.get("c"))]
            #expect(try await [redirected] + others == [7, 8, 8])
        }
        #expect(network.sent.map(\.request.url.path) == ["/a", "/b", "/c", "/c"])
    }

    @Test("http may lead to https, and back to http on this machine")
    func upgrades() async throws {
        let network = scripted()
        network.on(.get, "http://localhost/a") { .status(302, headers: ["Location": "http://localhost:81/b"]) }
        network.on(.get, "http://localhost:81/b") { .status(302, headers: ["Location": "https://api.test/c"]) }
        network.on(.get, "https://api.test/c") { .json("7") }
        let client = testClient(network, TestClock()) {
            $0.environment = ServerEnvironment(name: "test", baseURL: "http://localhost")
        }
        #expect(try await client.run(Endpoint<Int>.get("a")) == 7)
    }
}
