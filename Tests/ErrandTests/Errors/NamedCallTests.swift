import Errand
import ErrandTestSupport
import ErrandTesting
import FoundationEssentials
import Testing

@Suite("Errors name the call that failed", .timeLimit(.minutes(10))) struct NamedCallTests {
    private let clock = TestClock()
    private let network = scripted()
    private var client: APIClient { testClient(network, clock) { $0.retry = .never } }

    private func body(_ texts: String..., headers: HTTPHeaders = [:]) -> ScriptedReply {
        .chunks(texts.map { Data($0.utf8) }, headers: headers)
    }

    @Test("errors of a stream's body name its call, as do a second reader and a deadline that passes unread")
    func bodies() async throws {
        network.on(.get, "/log") {
            body("a").thenFailure()
            body("a").thenSilence
            body("a").thenSilence
            body("a").thenSilence
        }
        let client = client
        try await clock.run {
            for index in 0..<4 {
                let response = try await client.stream(.get("log").deadline(.seconds(index == 2 ? 5 : 100)))
                var chunks = response.chunks.makeAsyncIterator()
                if index == 2 { try await clock.sleep(for: .seconds(6)) } else { _ = try await chunks.next() }
                var others = response.chunks.makeAsyncIterator()
                let error = await #expect(throws: ServiceError.self) {
                    if index == 3 { _ = try await others.next() } else { _ = try await chunks.next() }
                }
                #expect(error?.call == "GET log", "\(String(describing: error))")
                #expect(error?.description.hasSuffix(" [https://api.test]") == true)
            }
        }
    }

    @Test("errors of an event stream name its call")
    func events() async throws {
        let headers: HTTPHeaders = ["Content-Type": "text/event-stream"]
        network.on(.post, "/chat") {
            body("data: a\n\n", headers: headers).thenFailure()
            body("data: a\n\n", headers: headers).thenSilence
            body("data: a\n\n")
            ScriptedReply.status(404)
        }
        let client = client
        await clock.run {
            for index in 0..<4 {
                let error = await #expect(throws: ServiceError.self) {
                    let call = Endpoint<Data>.post("chat").deadline(.seconds(index == 1 ? 5 : 100))
                    for try await _ in client.events(call) {}
                }
                #expect(error?.call == "POST chat", "\(String(describing: error))")
            }
        }
    }

    @Test("errors of paging name the call for a page")
    func paging() async throws {
        network.page("/feed?sort=new", Feed(items: [1], next: "https://evil.test/"))
        let other = await Reading(client.items(of: .feed, in: \.items, by: .nextURL(\.next)))
        network.page("/feed?sort=new", Feed(items: [1], next: "a b"))
        let unreadable = await Reading(client.items(of: .feed, in: \.items, by: .nextURL(\.next)))
        network.page("/feed?sort=new", Feed(items: [1], next: "/feed?sort=new"))
        let repeated = await Reading(client.items(of: .feed, in: \.items, by: .nextURL(\.next)))
        network.page("/feed?sort=new&page=1", Feed(items: [1]))
        let missing = await Reading(client.items(of: .feed, in: \.items, by: .number("page", total: \.total)))
        network.page("/feed?sort=new&page=1", Feed(items: [1], total: 9))
        let many = await Reading(client.pages(of: .feed, by: .number("page", total: \.total), pageLimit: 1))
        let none = await Reading(client.pages(of: .feed, by: .link, pageLimit: 0))
        let errors = [other.error, unreadable.error, repeated.error, missing.error, many.error, none.error]
        for error in errors {
            #expect(error?.error.call == "GET feed", "\(String(describing: error))")
            #expect(error?.description.hasPrefix("GET feed: ") == true, "\(String(describing: error))")
            #expect(error?.error.description.hasSuffix(" [https://api.test]") == true)
        }
    }

    @Test("errors of every way to make a call name the server, and the attempts that were made")
    func servers() async throws {
        network.onAny { ScriptedReply.status(503).always }
        let client = testClient(network, clock) { $0.retry = RetryPolicy(attempts: 3, base: .seconds(1)) }
        let endpoint = Endpoint<Data>.get("x", query: ["key": "s3cr3t"])
        try await clock.runTest {
            let errors = [
                await #expect(throws: ServiceError.self) { try await client.run(endpoint) },
                await #expect(throws: ServiceError.self) { try await client.stream(endpoint) },
                await #expect(throws: ServiceError.self) {
                    for try await _ in client.events(endpoint) {}
                },
                await #expect(throws: ServiceError.self) {
                    try await client.download(endpoint, to: "/tmp/errand-named-call")
                },
            ]
            for error in errors {
                let text = error?.description ?? ""
                #expect(text.hasPrefix("GET x: ") && text.contains(" [https://api.test"), "\(text)")
                #expect(!text.contains("s3cr3t"))
            }
            #expect(errors[0]?.description.hasSuffix(" [https://api.test, after 3 attempts]") == true)
        }
        await client.shutdown()
        let late = await #expect(throws: ServiceError.self) { try await client.run(endpoint) }
        let end = "(clientShutDown: the client has been shut down) [https://api.test]"
        #expect(late?.description.hasSuffix(end) == true)
        let nowhere = APIClient("nowhere") { $0.transport = network }
        let invalid = await #expect(throws: ServiceError.self) { try await nowhere.run(endpoint) }
        #expect(invalid?.call == "GET x" && invalid?.description.hasSuffix(")") == true)
    }

    @Test("after a redirect, an error names the server that answered, or that could not be reached")
    func redirected() async throws {
        network.on(.get, "https://api.test/x") {
            ScriptedReply.status(302, headers: ["Location": "https://other.test/y"]).times(2)
        }
        network.on(.get, "https://other.test/y", .status(404), .failure(.refused))
        for _ in 0..<2 {
            let error = await #expect(throws: ServiceError.self) { try await client.run(Endpoint<Int>.get("x")) }
            #expect(error?.call == "GET x" && error?.description.hasSuffix(" [https://other.test]") == true)
        }
    }

    @Test("an error body of another format names the call that was rejected")
    func decodedBody() async throws {
        network.on(.get, "/x", .json(#"{"code": "a"}"#, status: 409))
        let error = await #expect(throws: ServiceError.self) { try await client.run(Endpoint<Int>.get("x")) }
        guard case .rejected(let rejection) = error else { throw try #require(error) }
        struct Refusal: Decodable { var code: Int }
        let second = #expect(throws: ServiceError.self) { try rejection.decodeBody(as: Refusal.self) }
        #expect(second?.call == "GET x")
    }
}
