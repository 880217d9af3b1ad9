import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("What goes into a form and a query")
struct FormEncodingTests {
    private struct Order: Encodable, Sendable {
        struct Item: Encodable, Sendable {
            var name: String
            var count: Int
        }

        var customer = "Bo & Co"
        var isPaid = true
        var total = 1.5
        var note: String?
        var tags = ["a", "b"]
        var metadata = ["key": "x y", "other": "="]
        var items = [Item(name: "n", count: 2)]
        var at = Date(timeIntervalSince1970: 0)
    }

    private func form(_ body: RequestBody, _ configure: (inout Configuration) -> Void = { _ in }) async throws -> String
    {
        let network = scripted()
        network.onAny { .status(204) }
        try await testClient(network, TestClock(), configure).run(.post("x", body: body))
        let request = try #require(network.sent.first?.request)
        #expect(request.headers["Content-Type"] == "application/x-www-form-urlencoded")
        return String(decoding: request.body?.bytes ?? Data(), as: UTF8.self).removingPercentEncoding ?? ""
    }

    @Test("inner objects and lists of any Encodable are written with brackets")
    func nested() async throws {
        let text = try await form(.form(Order())) { $0.encoder = .json(keys: .snakeCase) }
        #expect(
            text == "at=1970-01-01T00:00:00Z&customer=Bo & Co&is_paid=true&items[0][count]=2&items[0][name]=n"
                + "&metadata[key]=x y&metadata[other]==&tags[]=a&tags[]=b&total=1.5")
    }

    @Test("a literal stays in its order, and names may repeat")
    func literal() async throws {
        #expect(try await form(.form(["b": 1, "a": ["x", "y"], "b": 2])) == "b=1&a=x&a=y&b=2")
    }

    private func target(
        _ endpoint: Endpoint<NoContent>, _ configure: (inout Configuration) -> Void = { _ in }
    ) async throws -> String {
        let network = scripted()
        network.onAny { .status(204) }
        try await testClient(network, TestClock(), configure).run(endpoint)
        return try #require(network.sent.first?.request.url.target.removingPercentEncoding)
    }

    @Test("a query takes any Encodable: a list repeats its name, an inner object has brackets, a nil is left out")
    func query() async throws {
        let text = try await target(.get("x").query(Order())) { $0.encoder = .json(keys: .snakeCase) }
        #expect(
            text == "/x?at=1970-01-01T00:00:00Z&customer=Bo & Co&is_paid=true&items[0][count]=2&items[0][name]=n"
                + "&metadata[key]=x y&metadata[other]==&tags=a&tags=b&total=1.5")
    }

    @Test("what the endpoint's query names goes before a member with that name, and before what all calls have")
    func queryNames() async throws {
        let endpoint = Endpoint<NoContent>.get("x", query: ["page": 2]).query(["page": 1, "size": 3, "key": 4])
        #expect(
            try await target(endpoint) { $0.parameters = ["key": 0, "lang": "de"] } == "/x?page=2&key=4&size=3&lang=de")
        #expect(try await target(endpoint.query("size", nil)) == "/x?page=2&key=4&size=3")
    }

    @Test("each page of a list has the members too")
    func queryOfList() async throws {
        let network = scripted()
        network.on(.get, "/x?page=1&size=3", .json("[1]"))
        network.on(.get, "/x?page=2&size=3", .json("[]"))
        let client = testClient(network)
        let list = Endpoint<[Int]>.get("x").query(["size": 3])
        var items: [Int] = []
        for try await item in client.items(of: list, by: .number("page")) { items.append(item) }
        #expect(items == [1])
        try network.verify()
    }

    private struct Exact: Encodable, Sendable {
        var big = UInt64.max
        var price = Decimal(string: "12345678901234567890.123456789") ?? 0
        var half = 0.5
        var small = 1e-300
        var at = Date(timeIntervalSince1970: 0)
    }

    @Test("C61: numbers keep their digits, and dates are those of a literal unless the encoder has a format")
    func exact() async throws {
        let text = "/x?at=1970-01-01T00:00:00Z&big=18446744073709551615&half=0.5&price=12345678901234567890.123456789"
        #expect(try await target(.get("x").query(Exact())) == "\(text)&small=1e-300")
        let seconds = try await target(.get("x").query(Exact())) { $0.encoder = .json(dates: .secondsSince1970) }
        #expect(seconds.contains("at=0&"))
    }

    @Test("C90: neither the text of an endpoint nor a dump of it shows what is in the value")
    func hiddenQuery() {
        let endpoint = Endpoint<NoContent>.get("x").query(["api_key": "hunter2"])
        var text = "\(endpoint) \(endpoint.options)"
        dump(endpoint, to: &text)
        #expect(!text.contains("hunter2"))
    }

    @Test("a page that the server names keeps the member that replaces a common parameter of the client")
    func queryOfLinkedList() async throws {
        let network = scripted()
        network.on(.get, "/x?lang=en", .json("[1]", headers: ["Link": "</x?lang=en&page=2>; rel=\"next\""]))
        network.on(.get, "/x?lang=en&page=2", .json("[2]"))
        let client = testClient(network, TestClock()) { $0.parameters = ["lang": "de"] }
        let list = Endpoint<[Int]>.get("x").query(["lang": "en"])
        var items: [Int] = []
        for try await item in client.items(of: list, by: .link) { items.append(item) }
        #expect(items == [1, 2])
        try network.verify()
    }

    private struct Failing: Encodable, Sendable {
        var ratio = Double.nan
    }

    @Test("a value without names, or one that cannot be encoded, is refused, and nothing is sent")
    func badQuery() async throws {
        let client = testClient(scripted())
        let cases: [(Endpoint<NoContent>, String)] = [
            (.get("x").query(7), "a value of Int is not encoded as an object"),
            (.get("x").query([["a": 1]]), "is not encoded as an object"),
            (.get("x").query(Failing()), "the query cannot be encoded: at ratio"),
        ]
        for (endpoint, words) in cases {
            let error = await #expect(throws: ServiceError.self) { try await client.run(endpoint) }
            guard case .invalidRequest(let invalid) = error else { throw try #require(error) }
            #expect(invalid.subject == .query && invalid.reason.contains(words), "\(invalid)")
        }
    }

    private enum Sort: String, QueryValue {
        case byName = "name"
    }

    @Test("identifiers, URLs, dates and enums stand in a query")
    func values() async throws {
        let network = scripted()
        network.onAny { .status(204) }
        let id = try #require(UUID(uuidString: "6F9619FF-8B86-D011-B42D-00C04FC964FF"))
        let url = try #require(URL(string: "https://a.test/x?y=1"))
        try await testClient(network).run(
            .post("x", query: ["id": id, "url": url, "at": Date(timeIntervalSince1970: 1.9), "sort": Sort.byName]))
        #expect(
            network.sent.first?.request.url.query?.removingPercentEncoding
                == "id=6F9619FF-8B86-D011-B42D-00C04FC964FF&url=https://a.test/x?y=1&at=1970-01-01T00:00:01Z&sort=name")
    }

    @Test("modifiers set a header, a parameter and a decoder of one call")
    func modifiers() async throws {
        struct Film: Decodable, Sendable { var releaseDate: Int }
        let network = scripted()
        network.onAny { .json(#"{"release_date": 7}"#) }
        let endpoint = Endpoint<Film>.get("x", query: ["a": 1, "b": 2], headers: ["X-A": "1", "X-B": "2"])
            .header("X-A", "3").header("X-B", nil).query("a", [4, 5]).query("b", nil).decoder(.json(keys: .snakeCase))
        #expect(try await testClient(network).run(endpoint).releaseDate == 7)
        let request = try #require(network.sent.first?.request)
        #expect(request.headers["X-A"] == "3" && request.headers["X-B"] == nil && request.url.query == "a=4&a=5")
    }
}
