@testable import Errand
import ErrandTestSupport
import ErrandTesting
import FoundationEssentials
import Testing

@Suite("Paging: faults that end a list")
struct PagingFaultTests {
    private let network = scripted()
    private var client: APIClient { testClient(network, TestClock()) }

    @Test("a page that names itself as the next is not requested again", arguments: [true, false])
    func selfLoop(isFirst: Bool) async throws {
        if !isFirst { network.page("/feed?sort=new", Feed(items: [1], next: "/feed?c=2")) }
        let own = isFirst ? "/feed?sort=new" : "/feed?c=2"
        network.page(own, Feed(items: [2], next: "https://api.test\(own)"))
        let reading = await Reading(client.items(of: .feed, in: \.items, by: .nextURL(\.next)))
        #expect(reading.had == (isFirst ? [2] : [1, 2]))
        #expect(reading.fault == .repeated)
        try network.verify()
    }

    @Test("a repeated cursor ends the list before its page is requested again")
    func repeatedCursor() async throws {
        network.page("/feed?sort=new", Feed(items: [1], cursor: "a"))
        network.page("/feed?sort=new&after=a", Feed(items: [2], cursor: "a"))
        let reading = await Reading(client.items(of: .feed, in: \.items, by: .cursor("after", next: \.cursor)))
        #expect(reading.had == [1, 2])
        #expect(reading.fault == .repeated)
        let detail = "The server's list returned to an earlier page: after 2 pages"
        #expect(reading.error?.error.payload?.description == detail)
        try network.verify()
    }

    @Test("a loop of any length, after any beginning, is detected", arguments: 0..<12, 1..<12)
    func circle(beginning: Int, length: Int) async throws {
        network.on(.get, "/feed") { request in
            let cursor = request.url.query?.split(separator: "after=").last.flatMap { Int($0) } ?? 0
            let next = cursor + 1 < beginning + length ? cursor + 1 : max(1, beginning)
            return .status(200, body: try JSONEncoder().encode(Feed(items: [cursor], cursor: "\(next)")))
        }
        let reading = await Reading(client.items(of: .feed, in: \.items, by: .cursor("after", next: \.cursor)))
        #expect(reading.fault == .repeated)
        // By then every page was read, and none more than a few times.
        #expect(Set(reading.had).count == max(beginning + length, 2) || beginning + length == 1)
        #expect(reading.had.count <= 3 * (beginning + length) + 2)
    }

    @Test("A → B → A ends before A is requested for a second time")
    func shortCircle() async throws {
        network.page("/feed?sort=new", Feed(items: [0], next: "/a"))
        network.page("/a", Feed(items: [1], next: "/b"))
        network.page("/b", Feed(items: [2], next: "/a"))
        let reading = await Reading(client.items(of: .feed, in: \.items, by: .nextURL(\.next)))
        #expect(reading.had == [0, 1, 2] && reading.fault == .repeated)
        try network.verify()
    }

    @Test(
        "a page on another origin is not requested",
        arguments: [
            "https://evil.test/feed?c=2", "http://api.test/feed?c=2", "https://api.test:8443/feed", "//evil.test/feed",
            "https://api.test.evil.test/feed",
        ])
    func otherOrigin(next: String) async throws {
        network.page("/feed?sort=new", Feed(items: [1], next: next))
        let reading = await Reading(client.items(of: .feed, in: \.items, by: .nextURL(\.next)))
        #expect(reading.had == [1] && reading.fault == .otherOrigin)
        // The same with a saved position.
        let position = try #require(reading.error?.position)
        let again = await Reading(client.items(of: .feed, in: \.items, by: .nextURL(\.next), from: position))
        #expect(again.had.isEmpty && again.fault == .otherOrigin)
        #expect(network.sent.count == 1)
    }

    @Test("another origin that a redirect led to does not choose the next request")
    func stranger() async throws {
        network.on(.get, "/feed", .status(302, headers: ["Location": "https://cdn.test/feed"]))
        network.on(.get, "https://cdn.test/feed", .encoding(Feed(items: [1], next: "https://api.test/secrets")))
        let reading = await Reading(
            client.items(of: Endpoint<Feed>.get("feed"), in: \.items, by: .nextURL(\.next)))
        #expect(reading.had == [1] && reading.fault == .otherOrigin)
        #expect(network.sent.count == 2)
    }

    @Test("a relative URL is resolved against the target of a redirect")
    func redirected() async throws {
        network.on(.get, "/feed", .status(302, headers: ["Location": "/v2/feed"]))
        network.page("/v2/feed", Feed(items: [1], next: "more"))
        network.page("/v2/more", Feed(items: [2]))
        let reading = await Reading(client.items(of: Endpoint<Feed>.get("feed"), in: \.items, by: .nextURL(\.next)))
        #expect(reading.had == [1, 2] && reading.error == nil)
    }

    @Test(
        "an invalid URL fails", arguments: ["a b", "https://", "ftp://api.test/x", "https://api.test/%zz", "x\u{0}"])
    func unreadable(next: String) async throws {
        network.page("/feed?sort=new", Feed(items: [1], next: next))
        let reading = await Reading(client.items(of: .feed, in: \.items, by: .nextURL(\.next)))
        #expect(reading.had == [1] && reading.fault == .unreadable)
        #expect(network.sent.count == 1)
    }

    @Test("the page limit ends the list, and reading can continue from there")
    func tooMany() async throws {
        network.on(.get, "/feed") { ScriptedReply.encoding(Feed(items: [1], total: 5)).times(5) }
        let ways: Paging<Feed> = .number("page", total: \.total)
        let reading = await Reading(client.items(of: .feed, in: \.items, by: ways, pageLimit: 3))
        #expect(reading.had.count == 3 && reading.fault == .tooManyPages)
        let position = try #require(reading.error?.position)
        let rest = await Reading(client.items(of: .feed, in: \.items, by: ways, from: position, pageLimit: 2))
        #expect(rest.had.count == 2 && rest.error == nil)
        try network.verify()
    }

    @Test("the default limit is a thousand pages")
    func usualLimit() async throws {
        network.on(.get, "/feed") { ScriptedReply.encoding(Feed(items: [1], total: .max)).always }
        let reading = await Reading(client.items(of: .feed, in: \.items, by: .number("page", total: \.total)))
        #expect(reading.had.count == 1000 && reading.fault == .tooManyPages)
    }

    @Test("a missing total is reported after the page that lacks it")
    func missingTotal() async throws {
        network.page("/feed?sort=new&page=1", Feed(items: [1], total: 3))
        network.page("/feed?sort=new&page=2", Feed(items: [2]))
        let reading = await Reading(client.items(of: .feed, in: \.items, by: .number("page", total: \.total)))
        #expect(reading.had == [1, 2] && reading.fault == .missingTotal)
        try network.verify()
    }

    @Test("a limit of zero pages, or a position of another way, sends nothing")
    func badSettings() async throws {
        let none = await Reading(client.pages(of: .feed, by: .link, pageLimit: 0))
        let position = try JSONDecoder().decode(PagePosition.self, from: Data(#"{"text": "a"}"#.utf8))
        let foreign = await Reading(client.pages(of: .feed, by: .link, from: position))
        for error in [none.error, foreign.error] {
            guard case .invalidRequest(let invalid) = try #require(error).error else { throw try #require(error) }
            #expect(invalid.subject == .configuration)
        }
        #expect(foreign.error?.position == position)
        #expect(network.sent.isEmpty)
    }
}
