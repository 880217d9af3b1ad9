import Errand
import ErrandTestSupport
import ErrandTesting
import FoundationEssentials
import Testing

@Suite("Paging: every way from page to page, and its proper end")
struct PagingWayTests {
    private let network = scripted()
    private var client: APIClient { testClient(network, TestClock()) }

    @Test("by number, up to the total")
    func number() async throws {
        network.page("/feed?sort=new&page=1", Feed(items: [1, 2], total: 3))
        network.page("/feed?sort=new&page=2", Feed(items: [3], total: 3))
        network.page("/feed?sort=new&page=3", Feed(items: [4], total: 3))
        let reading = await Reading(client.items(of: .feed, in: \.items, by: .number("page", total: \.total)))
        #expect(reading.had == [1, 2, 3, 4] && reading.error == nil)
        try network.verify()
    }

    @Test("the number replaces one that the endpoint has, and may begin at zero")
    func ownNumber() async throws {
        let endpoint: Endpoint<Feed> = .get("feed", query: ["page": 7, "a": 1])
        network.page("/feed?a=1&page=0", Feed(items: [1], total: 2))
        network.page("/feed?a=1&page=1", Feed(items: [2], total: 2))
        let reading = await Reading(
            client.items(of: endpoint, in: \.items, by: .number("page", from: 0, total: \.total)))
        #expect(reading.had == [1, 2] && reading.error == nil)
        try network.verify()
    }

    @Test("by number in the JSON body of a POST with parameters")
    func body() async throws {
        let endpoint = Endpoint<Feed>(.post, "search", parameters: ["q": "x"])
        network.on(.post, "/search") {
            ScriptedReply.encoding(Feed(items: [1], total: 2))
            ScriptedReply.encoding(Feed(items: [2], total: 2))
        }
        let reading = await Reading(client.items(of: endpoint, in: \.items, by: .number("page", total: \.total)))
        #expect(reading.had == [1, 2] && reading.error == nil)
        struct Sent: Decodable, Equatable { var q: String, page: Int }
        let bodies = try network.sent.map { try JSONDecoder().decode(Sent.self, from: $0.body) }
        #expect(bodies == [Sent(q: "x", page: 1), Sent(q: "x", page: 2)])
    }

    @Test("a total of zero or less ends it with the first page", arguments: [0, -5, 1, Int.min])
    func smallTotal(total: Int) async throws {
        network.page("/feed?sort=new&page=1", Feed(items: [1], total: total))
        let reading = await Reading(client.items(of: .feed, in: \.items, by: .number("page", total: \.total)))
        #expect(reading.had == [1] && reading.error == nil)
    }

    @Test("an empty page before the total ends it, and so does a page beyond the total")
    func emptyPage() async throws {
        network.page("/feed?sort=new&page=1", Feed(items: [1], total: 9))
        network.page("/feed?sort=new&page=2", Feed(items: [], total: 9))
        let ways: Paging<Feed> = .number("page", total: \.total)
        let reading = await Reading(client.items(of: .feed, in: \.items, by: ways))
        #expect(reading.had == [1] && reading.error == nil)
        network.page("/feed?sort=new&page=40", Feed(items: [5], total: 9))
        let beyond = await Reading(
            client.items(of: .feed, in: \.items, by: ways, from: try position(#"{"number": 40}"#)))
        #expect(beyond.had == [5] && beyond.error == nil)
        try network.verify()
    }

    @Test(
        "no number and no total overflows",
        arguments: [(Int.max, Int.max), (Int.max, 3), (Int.min, Int.max), (Int.max - 1, Int.max - 1)])
    func extremes(number: Int, total: Int) async throws {
        network.on(.get, "/feed") { ScriptedReply.encoding(Feed(items: [1], total: total)).always }
        let ways: Paging<Feed> = .number("page", total: \.total)
        let start = try position(#"{"number": \#(number)}"#)
        let reading = await Reading(client.items(of: .feed, in: \.items, by: ways, from: start))
        #expect(reading.had == [1] && reading.error == nil)
    }

    @Test("by number without a total, up to the first empty page")
    func untilEmpty() async throws {
        network.page("/feed?sort=new&page=1", Feed(items: [1]))
        network.page("/feed?sort=new&page=2", Feed(items: []))
        let reading = await Reading(client.pages(of: .feed, by: .number("page", untilEmpty: \.items)))
        #expect(reading.had.map(\.value.items) == [[1], []] && reading.error == nil)
        network.on(.get, "/ids?page=1") { .json("[1, 2]") }
        network.on(.get, "/ids?page=2") { .json("[]") }
        let ids = await Reading(client.items(of: Endpoint<[Int]>.get("ids"), by: .number("page")))
        #expect(ids.had == [1, 2] && ids.error == nil)
        try network.verify()
    }

    @Test("a page whose elements are all broken does not end the list")
    func lossyPage() async throws {
        network.on(.get, "/ids?page=1") { .json("[1]") }
        network.on(.get, "/ids?page=2") { .json(#"["x", "y"]"#) }
        network.on(.get, "/ids?page=3") { .json("[3]") }
        network.on(.get, "/ids?page=4") { .json("[]") }
        let ids = await Reading(client.items(of: Endpoint<LossyList<Int>>.get("ids"), by: .number("page")))
        #expect(ids.had == [1, 3] && ids.error == nil)
        try network.verify()
    }

    @Test("by cursor, until there is none", arguments: [nil, ""])
    func cursor(end: String?) async throws {
        network.page("/feed?sort=new", Feed(items: [1], cursor: "a b&c"))
        network.page("/feed?sort=new&after=a%20b%26c", Feed(items: [], cursor: "d"))
        network.page("/feed?sort=new&after=d", Feed(items: [2], cursor: end))
        let reading = await Reading(client.items(of: .feed, in: \.items, by: .cursor("after", next: \.cursor)))
        #expect(reading.had == [1, 2] && reading.error == nil)
        try network.verify()
    }

    @Test("by last identifier, until a page has none")
    func lastID() async throws {
        network.page("/feed?sort=new", Feed(items: [9, 8]))
        network.page("/feed?sort=new&max_id=8", Feed(items: [7]))
        network.page("/feed?sort=new&max_id=7", Feed(items: []))
        let reading = await Reading(client.items(of: .feed, in: \.items, by: .cursor("max_id", next: \.items.last)))
        #expect(reading.had == [9, 8, 7] && reading.error == nil)
        try network.verify()
    }

    @Test("by Link header, absolute or relative, until there is none")
    func link() async throws {
        network.page("/feed?sort=new", Feed(), headers: ["Link": #"<https://api.test/other/1?p=2>; rel="next""#])
        network.page("/other/1?p=2", Feed(), headers: ["link": #"<../x>; rel=prev"#, "Link": "<?p=3>; rel=next"])
        network.page("/other/1?p=3", Feed(), headers: ["Link": #"<?p=1>; rel="first""#])
        let reading = await Reading(client.items(of: .feed, in: \.items, by: .link))
        #expect(reading.had == [0, 0, 0] && reading.error == nil)
        try network.verify()
    }

    @Test("by a URL in the response, of either type")
    func nextURL() async throws {
        struct Typed: Codable, Sendable { var next: URL? }
        for _ in 0..<2 {
            network.page("/feed?sort=new", Feed(items: [1], next: "https://api.test/feed?c=2"))
            network.page("/feed?c=2", Feed(items: [2], next: "/more"))
            network.page("/more", Feed(items: [3], next: ""))
        }
        let reading = await Reading(client.items(of: .feed, in: \.items, by: .nextURL(\.next)))
        #expect(reading.had == [1, 2, 3] && reading.error == nil)
        network.on(.get, "/typed") { .json(#"{"next": "https://api.test/typed/2"}"#) }
        network.on(.get, "/typed/2") { .json("{}") }
        let typed = await Reading(client.pages(of: Endpoint<Typed>.get("typed"), by: .nextURL(\.next)))
        #expect(typed.had.count == 2 && typed.error == nil)
        let again = await Reading(client.pages(of: .feed, by: .nextURL { (feed: Feed) in feed.next }))
        #expect(again.had.map(\.value.items) == [[1], [2], [3]])
    }

    @Test("some servers name a next page for ever: an empty one that names itself is the end")
    func emptyForEver() async throws {
        network.page("/feed?sort=new", Feed(items: [1], cursor: "end"))
        network.page("/feed?sort=new&after=end", Feed(cursor: "end"))
        let reading = await Reading(client.items(of: .feed, in: \.items, by: .cursor("after", next: \.cursor)))
        #expect(reading.had == [1] && reading.error == nil)
        try network.verify()
    }

    private func position(_ json: String) throws -> PagePosition {
        try JSONDecoder().decode(PagePosition.self, from: Data(json.utf8))
    }
}
