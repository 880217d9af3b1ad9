import Errand
import ErrandTestSupport
import ErrandTesting
import FoundationEssentials
import Testing

@Suite("Paging: each page is a call like any other")
struct PagingCallTests {
    private let byNumber: Paging<Feed> = .number("page", total: \.total)

    @Test("pages keep to the limit: twelve at five per second take two seconds")
    func paced() async throws {
        let (clock, network) = (TestClock(), scripted())
        network.on(.get, "/feed") { ScriptedReply.encoding(Feed(items: [1], total: 12)).times(12) }
        let client = testClient(network, clock) { $0.rateLimit = .requests(5, per: .seconds(1)) }
        let reading = await clock.run { await Reading(client.items(of: .feed, in: \.items, by: byNumber)) }
        #expect(reading.had.count == 12)
        #expect(network.sent.map(\.at) == (0..<12).map { .zero.advanced(by: .seconds($0 / 5)) })
    }

    @Test("a page is retried, and signed with a token that is fresh by then")
    func retriedAndSigned() async throws {
        let (clock, network) = (TestClock(), scripted())
        network.on(.get, "/feed?sort=new") {
            ScriptedReply.status(503)
            ScriptedReply.encoding(Feed(items: [1], next: "/more"))
        }
        network.on(.get, "/more") {
            ScriptedReply.status(401)
            ScriptedReply.encoding(Feed(items: [2]))
        }
        let tokens = TokenStore(time: clock) { _ in Token(accessToken: "new") }
        await tokens.signIn(Token(accessToken: "old", refreshToken: "r"))
        let client = testClient(network, clock) { $0.tokens = tokens }
        let reading = await clock.run { await Reading(client.items(of: .feed, in: \.items, by: .nextURL(\.next))) }
        #expect(reading.had == [1, 2] && reading.error == nil)
        let signs = network.sent.map { $0.request.headers["Authorization"] }
        #expect(signs == ["Bearer old", "Bearer old", "Bearer old", "Bearer new"])
    }

    @Test("a list ends with the session of its first page, and goes on in no other", arguments: [true, false])
    func ofOneUser(isFollowed: Bool) async throws {
        let (clock, network) = (TestClock(), scripted())
        network.on(.get, "/feed", .encoding(Feed(items: [1], next: "/more")))
        let tokens = TokenStore(time: clock) { _ in Token(accessToken: "new") }
        await tokens.signIn(Token(accessToken: "ann"))
        let client = testClient(network, clock) { $0.tokens = tokens }
        var items = client.items(of: .feed, in: \.items, by: .nextURL(\.next)).makeAsyncIterator()
        #expect(try await items.next() == 1)
        if isFollowed { await tokens.signIn(Token(accessToken: "bo")) } else { await tokens.signOut() }
        let reason: SessionExpiry.Reason = isFollowed ? .otherSession : .signedOut
        let error = await #expect(throws: PagingError.self) { try await items.next() }
        guard case .sessionExpired(let expiry) = error?.error else { throw try #require(error) }
        #expect(expiry.reason == reason)
        #expect(network.sent.count == 1)
        // The position has no session: who reads on there says so.
        #expect(error?.position == items.position)
    }

    @Test("no page is requested before it is needed")
    func lazily() async throws {
        let network = scripted()
        network.on(.get, "/feed") { ScriptedReply.encoding(Feed(items: [1, 2], total: 9)).always }
        let client = testClient(network, TestClock())
        let list = client.items(of: .feed, in: \.items, by: byNumber)
        var items = list.makeAsyncIterator()
        #expect(network.sent.isEmpty)
        for count in [1, 1, 2, 2, 3] {
            _ = try await items.next()
            #expect(network.sent.count == count)
        }
    }

    @Test(
        "common parameters are in a next URL once, with their current values",
        arguments: [
            ("/more?c=2", "/more?c=2&api_key=now&v=1"), ("/more?api_key=then&c=2", "/more?c=2&api_key=now&v=1"),
            ("/more?c=2&api%5Fkey=now&v=1&v=1", "/more?c=2&api_key=now&v=1"), ("/more", "/more?api_key=now&v=1"),
            ("/more?v=1", "/more?api_key=now&v=1"), ("/more?sort=new&x=%2F+", "/more?sort=new&x=%2F+&api_key=now&v=1"),
        ])
    func commonParameters(next: String, sent: String) async throws {
        let network = scripted()
        network.on(.get, "/feed", .encoding(Feed(items: [1], next: next)))
        network.on(.get, sent, .encoding(Feed(items: [2])))
        let client = testClient(network, TestClock()) { $0.parameters = ["api_key": "now", "v": 1] }
        let list = client.pages(of: .feed, by: .nextURL(\.next))
        let reading = await Reading(list)
        #expect(reading.had.map(\.value.items) == [[1], [2]] && reading.error == nil)
        let position = try #require(reading.had.first?.next)
        let saved = String(decoding: try JSONEncoder().encode(position), as: UTF8.self)
        #expect(!saved.contains("now") && !saved.contains("then"))
    }

    @Test("parameters that are computed for each call are in a next URL once, with their current values")
    func parametersForEachCall() async throws {
        let (network, calls) = (scripted(), Noted(0))
        network.on(.get, "/feed?sort=new&n=1", .encoding(Feed(items: [1], next: "/more?n=1&c=2")))
        network.on(.get, "/more?c=2&n=2", .encoding(Feed(items: [2])))
        let client = testClient(network, TestClock()) {
            $0.parametersForEachCall = {
                calls.update { $0 += 1 }
                return ["n": calls.value]
            }
        }
        let reading = await Reading(client.items(of: .feed, in: \.items, by: .nextURL(\.next)))
        #expect(reading.had == [1, 2] && reading.error == nil)
        try network.verify()
    }

    @Test("a parameter that the endpoint sets over a common one stays as the next URL has it")
    func ownOverCommon() async throws {
        let network = scripted()
        network.on(.get, "/feed?v=2&k=1", .encoding(Feed(items: [1], next: "/feed?v=2&k=1&c=2")))
        network.on(.get, "/feed?v=2&c=2&k=1", .encoding(Feed(items: [2])))
        let client = testClient(network, TestClock()) { $0.parameters = ["v": 1, "k": 1] }
        let endpoint: Endpoint<Feed> = .get("feed", query: ["v": 2])
        let reading = await Reading(client.items(of: endpoint, in: \.items, by: .nextURL(\.next)))
        #expect(reading.had == [1, 2] && reading.error == nil)
    }

    @Test("if common parameters go into the body, a next URL stays as it is")
    func commonInBody() async throws {
        let network = scripted()
        network.on(.post, "/search", .encoding(Feed(items: [1], next: "/search?v=1&c=2")))
        network.on(.post, "/search?v=1&c=2", .encoding(Feed(items: [2])))
        let client = testClient(network, TestClock()) { $0.parameters = ["v": 1] }
        let endpoint = Endpoint<Feed>(.post, "search", parameters: ["q": "x"])
        let reading = await Reading(client.items(of: endpoint, in: \.items, by: .nextURL(\.next)))
        #expect(reading.had == [1, 2] && reading.error == nil)
    }

    @Test("with common parameters a page that names itself as the next is still not requested again")
    func selfLoopWithCommon() async throws {
        let network = scripted()
        network.on(.get, "/feed", .encoding(Feed(items: [1], next: "/feed?k=1&sort=new")))
        let client = testClient(network, TestClock()) { $0.parameters = ["k": 1] }
        let reading = await Reading(client.items(of: .feed, in: \.items, by: .nextURL(\.next)))
        #expect(reading.had == [1] && reading.fault == .repeated)
    }

    @Test("cancelled at any stage, it ends at that instant, with .cancelled and the position", arguments: CallStage.all)
    func cancelled(stage: CallStage) async throws {
        let (clock, network) = (TestClock(), ScriptedTransport())
        network.onAny { stage.reply.always }
        let limiter = RateLimiter(.requests(1, per: .milliseconds(1)), time: clock)
        let client = testClient(network, clock) {
            $0.limiter = limiter
            $0.timeout = .seconds(600)
            stage.configure(&$0, clock)
        }
        let start = try JSONDecoder().decode(PagePosition.self, from: Data(#"{"number": 4, "taken": 2}"#.utf8))
        let list = client.items(of: .feed, in: \.items, by: byNumber, from: start)
        await clock.run {
            let task = Task(executorPreference: clock.executor) { await Reading(list) }
            try? await clock.sleep(until: .zero.advanced(by: .seconds(20)))
            task.cancel()
            let reading = await task.value
            #expect(reading.error == PagingError(.cancelled, position: start), "\(stage.name)")
            #expect(clock.elapsed == .seconds(20))
        }
        #expect(network.sent.count == stage.sent)
        #expect(limiter.snapshot.waiters == 0)
    }

    @Test("cancelled in the middle of a page, it returns no further element of it")
    func cancelledInPage() async throws {
        let network = scripted()
        network.on(.get, "/feed") { .encoding(Feed(items: [1, 2, 3], total: 2)) }
        let client = testClient(network, TestClock())
        let list = client.items(of: .feed, in: \.items, by: byNumber)
        let task = Task {
            await Reading(list) { _ in withUnsafeCurrentTask { $0?.cancel() } }
        }
        let reading = await task.value
        #expect(reading.had == [1])
        #expect(reading.error?.error == .cancelled)
        #expect(reading.error.map { "\($0.position)" } == "the beginning, 1 taken")
        try network.verify()
    }
}
