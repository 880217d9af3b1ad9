import Errand
import ErrandTestSupport
import ErrandTesting
import FoundationEssentials
import Testing

@Suite("Paging: the position, and continuing from it")
struct PagingPositionTests {
    private let network = scripted()
    private var client: APIClient { testClient(network, TestClock()) { $0.retry = .never } }
    private let byNumber: Paging<Feed> = .number("page", total: \.total)

    @Test("after an error the list continues at the page that failed; nothing is lost or repeated")
    func pages() async throws {
        network.page("/feed?sort=new&page=1", Feed(items: [1], total: 2))
        network.on(.get, "/feed?sort=new&page=2") {
            ScriptedReply.status(503)
            ScriptedReply.encoding(Feed(items: [2], total: 2))
        }
        let first = await Reading(client.pages(of: .feed, by: byNumber))
        #expect(first.had.map(\.value.items) == [[1]])
        #expect(first.error?.error.status == 503)
        let position = try saved(#require(first.error?.position))
        #expect(position == first.had.last?.next)
        let second = await Reading(client.pages(of: .feed, by: byNumber, from: position))
        #expect(second.had.map(\.value.items) == [[2]] && second.error == nil)
        #expect(second.had.first?.position == position && second.had.first?.next == nil)
        try network.verify()
    }

    @Test("the position after a reply is that of the next page, and without the client's own parameters")
    func afterReply() async throws {
        network.page("/feed?sort=new&page=3&key=hunter2", Feed(items: [1], total: 4))
        network.on(.get, "/feed?sort=new&key=hunter2") {
            ScriptedReply.encoding(Feed(items: [1], cursor: "x", next: "/feed?key=hunter2&after=x"))
            ScriptedReply.encoding(Feed(items: [2]))
        }
        let client = testClient(network, TestClock()) { $0.parameters = ["key": "hunter2"] }
        let numbered = client.pages(of: .feed, by: byNumber)
        let third = Endpoint.feed.query("page", 3)
        let reply = try await client.reply(to: third)
        let position = try #require(numbered.position(after: reply))
        #expect("\(position)" == "page 2")
        let page = try JSONDecoder().decode(PagePosition.self, from: Data(#"{"number": 3}"#.utf8))
        #expect(numbered.position(after: reply, at: page).map { "\($0)" } == "page 4")
        let first = try await client.reply(to: .feed)
        let byURL = client.pages(of: .feed, by: .nextURL(\.next))
        let next = try #require(byURL.position(after: first))
        #expect(String(decoding: try JSONEncoder().encode(next), as: UTF8.self).contains("after=x"))
        #expect(!String(decoding: try JSONEncoder().encode(next), as: UTF8.self).contains("hunter2"))
        let last = try await client.reply(to: .feed)
        #expect(byURL.position(after: last) == nil)
        try network.verify()
    }

    @Test("every way continues at its position", arguments: 0..<3)
    func ways(index: Int) async throws {
        let ways: [(Paging<Feed>, String)] = [
            (.cursor("after", next: \.cursor), "/feed?sort=new&after=x"),
            (.cursor("max", next: \.items.last), "/feed?sort=new&max=1"),
            (.nextURL(\.next), "/deep/er?q=%20"),
        ]
        let (way, second) = ways[index]
        network.page("/feed?sort=new", Feed(items: [1], cursor: "x", next: "/deep/er?q=%20"))
        let page = try #require(await Reading(client.pages(of: .feed, by: way).prefix(1)).had.first)
        network.page(second, Feed(items: []))
        let rest = await Reading(client.pages(of: .feed, by: way, from: try saved(#require(page.next))))
        #expect(rest.had.count == 1 && rest.error == nil)
        try network.verify()
    }

    @Test("in the middle of a page that page is requested again, and the elements that were read are skipped")
    func middle() async throws {
        network.on(.get, "/feed?sort=new&page=1") { ScriptedReply.encoding(Feed(items: [1, 2, 3], total: 2)).times(2) }
        network.page("/feed?sort=new&page=2", Feed(items: [4], total: 2))
        var items = client.items(of: .feed, in: \.items, by: byNumber).makeAsyncIterator()
        #expect(items.position == .start)
        #expect(try await items.next() == 1)
        #expect(try await items.next() == 2)
        let position = try saved(#require(items.position))
        #expect("\(position)" == "the beginning, 2 taken")
        let rest = await Reading(client.items(of: .feed, in: \.items, by: byNumber, from: position))
        #expect(rest.had == [3, 4] && rest.error == nil)
    }

    @Test("after the last element of a page the position is the next page, and after the last of all there is none")
    func edges() async throws {
        network.page("/feed?sort=new&page=1", Feed(items: [1], total: 2))
        network.page("/feed?sort=new&page=2", Feed(items: [2], total: 2))
        var items = client.items(of: .feed, in: \.items, by: byNumber).makeAsyncIterator()
        _ = try await items.next()
        #expect(items.position.map { "\($0)" } == "page 2")
        _ = try await items.next()
        #expect(items.position == nil)
        #expect(try await items.next() == nil)
        #expect(try await items.next() == nil)
        try network.verify()
    }

    @Test("an error while a page is requested again keeps the number of elements that were read")
    func failedAgain() async throws {
        network.on(.get, "/feed?sort=new&page=1") {
            ScriptedReply.status(500)
            ScriptedReply.encoding(Feed(items: [1, 2], total: 1))
        }
        let start = try JSONDecoder().decode(PagePosition.self, from: Data(#"{"taken": 1}"#.utf8))
        let failed = await Reading(client.items(of: .feed, in: \.items, by: byNumber, from: start))
        #expect(failed.error?.position == start)
        let rest = await Reading(client.items(of: .feed, in: \.items, by: byNumber, from: start))
        #expect(rest.had == [2])
    }

    @Test("a page that has shrunk is skipped completely")
    func shrunk() async throws {
        network.page("/feed?sort=new&page=1", Feed(items: [1], total: 2))
        network.page("/feed?sort=new&page=2", Feed(items: [2], total: 2))
        let start = try JSONDecoder().decode(PagePosition.self, from: Data(#"{"number": 1, "taken": 5}"#.utf8))
        let rest = await Reading(client.items(of: .feed, in: \.items, by: byNumber, from: start))
        #expect(rest.had == [2] && rest.error == nil)
    }

    @Test("an iterator that has failed is at its end, and has its position")
    func afterError() async throws {
        network.on(.get, "/feed") { .status(404) }
        var pages = client.pages(of: .feed, by: byNumber).makeAsyncIterator()
        await #expect(throws: PagingError.self) { try await pages.next() }
        #expect(try await pages.next() == nil)
        #expect(pages.position == .start)
    }

    @Test("each loop starts at the beginning")
    func twice() async throws {
        network.on(.get, "/feed") { ScriptedReply.encoding(Feed(items: [1], total: 1)).times(2) }
        let items = client.items(of: .feed, in: \.items, by: byNumber)
        #expect(await Reading(items).had == [1])
        #expect(await Reading(items).had == [1])
        try network.verify()
    }

    @Test(
        "a position is one small object, and shows no cursor and no secret",
        arguments: [
            ("{}", "the beginning"), (#"{"number":3}"#, "page 3"), (#"{"text":"secret"}"#, "the page after a cursor"),
            (#"{"url":"https:\/\/api.test\/x?after=secret"}"#, "https://api.test/x"),
            (#"{"number":3,"taken":2}"#, "page 3, 2 taken"),
        ])
    func coding(json: String, shown: String) throws {
        let position = try JSONDecoder().decode(PagePosition.self, from: Data(json.utf8))
        #expect(try saved(position) == position)
        #expect("\(position)" == shown)
        var dumped = ""
        dump(PagingError(.cancelled, position: position), to: &dumped)
        #expect(!dumped.contains("secret"))
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        #expect(String(decoding: try encoder.encode(position), as: UTF8.self) == json)
    }

    @Test("a position with a manipulated negative offset starts at the beginning of its page")
    func negative() async throws {
        let position = try JSONDecoder().decode(PagePosition.self, from: Data(#"{"taken": -3}"#.utf8))
        #expect(position == .start)
        network.page("/feed?sort=new&page=1", Feed(items: [1, 2], total: 1))
        let reading = await Reading(client.items(of: .feed, in: \.items, by: byNumber, from: position))
        #expect(reading.had == [1, 2] && reading.error == nil)
    }

    /// Encodes and decodes the position.
    private func saved(_ position: PagePosition) throws -> PagePosition {
        try JSONDecoder().decode(PagePosition.self, from: JSONEncoder().encode(position))
    }
}
