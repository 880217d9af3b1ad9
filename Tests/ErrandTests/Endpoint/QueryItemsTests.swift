import Errand
import ErrandTestSupport
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

    private static func ends<Number: FixedWidthInteger & QueryValue>(
        of type: Number.Type, _ least: String, _ greatest: String
    ) -> (any QueryValue, String) {
        ([Number.min, .max], "n=\(least)&n=\(greatest)")
    }

    @Test(
        "integers of every width and decimal numbers are written in full, with a period and without groups",
        arguments: [
            ends(of: Int8.self, "-128", "127"), ends(of: UInt8.self, "0", "255"),
            ends(of: Int16.self, "-32768", "32767"), ends(of: UInt16.self, "0", "65535"),
            ends(of: Int32.self, "-2147483648", "2147483647"), ends(of: UInt32.self, "0", "4294967295"),
            ends(of: Int64.self, "-9223372036854775808", "9223372036854775807"),
            ends(of: UInt64.self, "0", "18446744073709551615"),
            ends(of: Int.self, "-9223372036854775808", "9223372036854775807"),
            ends(of: UInt.self, "0", "18446744073709551615"),
            ends(
                of: Int128.self, "-170141183460469231731687303715884105728",
                "170141183460469231731687303715884105727"),
            ends(of: UInt128.self, "0", "340282366920938463463374607431768211455"),
            (Decimal(sign: .minus, exponent: -2, significand: 1_234_567_850), "n=-12345678.5"),
            (Decimal(sign: .plus, exponent: 20, significand: 1), "n=100000000000000000000"),
            (Decimal(sign: .plus, exponent: -10, significand: 1), "n=0.0000000001"), (Decimal.zero, "n=0"),
        ] as [(any QueryValue, String)])
    func numbers(value: any QueryValue, text: String) throws {
        #expect(QueryItems(dictionaryLiteral: ("n", value)).encoded == text)
    }

    @Test("C62: integers of every width and decimal numbers can be parameters, in a query and in JSON")
    func parameters() async throws {
        let parameters: Parameters = [
            "a": Int8.min, "b": UInt8.max, "c": Int16.min, "d": UInt16.max, "e": Int32.min, "f": UInt32.max,
            "g": Int64.min, "h": UInt64.max, "i": Int128.min, "j": UInt128.max,
            "k": Decimal(sign: .plus, exponent: -1, significand: 15),
        ]
        let numbers = [
            "-128", "255", "-32768", "65535", "-2147483648", "4294967295", "-9223372036854775808",
            "18446744073709551615", "-170141183460469231731687303715884105728",
            "340282366920938463463374607431768211455", "1.5",
        ]
        let query = try await request(for: Endpoint<NoContent>(.get, "x", parameters: parameters))
        let pairs = zip("abcdefghijk", numbers).map { "\($0)=\($1)" }
        #expect(query.request.url.query == pairs.joined(separator: "&"))
        let body = try await request(for: Endpoint<NoContent>(.post, "x", parameters: parameters)).body
        for (name, number) in zip("abcdefghijk", numbers) {
            #expect(String(decoding: body, as: UTF8.self).contains("\"\(name)\":\(number)"))
        }
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
