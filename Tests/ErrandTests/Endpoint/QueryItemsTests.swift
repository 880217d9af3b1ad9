import Errand
import ErrandTesting
import Foundation
import Testing

@Suite("QueryItems: read back as they were given")
struct QueryItemsTests {
    @Test("C61: difficult names and values round-trip", arguments: EndpointPathTests.values)
    func roundTrip(text: String) async throws {
        let query: QueryItems = ["q": text, text: "v", "last": ""]
        let sent = try await request(for: Endpoint<Int>.get("x", query: query))
        let pairs = try #require(sent.request.url.query).split(separator: "&", omittingEmptySubsequences: false).map {
            $0.split(separator: "=", omittingEmptySubsequences: false).map(read)
        }
        #expect(pairs == [["q", text], [text, "v"], ["last", ""]])
        #expect(sent.request.url.path == "/x")
    }

    @Test("C61: the same applies to the body of a form")
    func form() async throws {
        let query = QueryItems(EndpointPathTests.values.map { QueryItems.Item(name: $0, value: $0) })
        let sent = try await request(for: Endpoint<Int>.post("x", body: .form(query)))
        #expect(sent.request.headers["Content-Type"] == "application/x-www-form-urlencoded")
        let pairs = String(decoding: sent.body, as: UTF8.self).split(separator: "&").map {
            $0.split(separator: "=").map(read)
        }
        #expect(pairs == EndpointPathTests.values.map { [$0, $0] })
    }

    @Test("the order is kept, a nil leaves its name out, an array repeats it, a name may occur twice")
    func order() {
        let none: String? = nil
        let query: QueryItems = ["b": 1, "a": ["x", "y"], "since": none, "c": [Int](), "b": 2, "on": true, "of": 1.5]
        #expect(query.encoded == "b=1&a=x&a=y&b=2&on=true&of=1.5")
        #expect(QueryItems().encoded.isEmpty)
    }

    @Test("every number, a substring and an enum can stand in a query")
    func values() {
        enum Sort: String, QueryValue { case byName = "by name" }
        let query: QueryItems = [
            "a": Int32(-1), "b": Int64.max, "c": UInt(1), "d": UInt32(2), "e": UInt64.max, "f": Float(0.5),
            "g": "xyz".prefix(2), "h": [Sort.byName],
        ]
        #expect(
            query.encoded
                == "a=-1&b=9223372036854775807&c=1&d=2&e=18446744073709551615&f=0.5&g=xy&h=by%20name")
    }

    @Test("a query without parameters has no question mark")
    func empty() async throws {
        let sent = try await request(for: Endpoint<Int>.get("x", query: [:]))
        #expect(sent.request.url.target == "/x")
    }
}

/// Decodes a part of a query as servers decode forms: a plus is a space.
private func read(_ part: Substring) -> String? {
    String(part).replacing("+", with: " ").removingPercentEncoding
}
