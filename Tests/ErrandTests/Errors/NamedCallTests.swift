import Errand
import ErrandTestSupport
import ErrandTesting
import FoundationEssentials
import Testing

@Suite("Errors name the call that failed", .timeLimit(.minutes(1))) struct NamedCallTests {
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
