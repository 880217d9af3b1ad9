import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("LossyList: a list without its broken elements")
struct LossyListTests {
    private struct User: Codable, Hashable, Sendable { var id: Int }

    private static func list<Element>(_ json: String, of type: Element.Type) throws -> LossyList<Element> {
        try JSONDecoder().decode(LossyList<Element>.self, from: Data(json.utf8))
    }

    /// Each of them replaces an element between two valid ones.
    private static let broken = [
        "null", "7", "-1.5", "true", #""text""#, "[]", "{}", "[1,[2,{}]]", #"{"id":"7"}"#, #"{"id":null}"#,
        #"{"id":[1,2,{"id":3}]}"#, #"{"id":1e99}"#, #"{"ID":1}"#, #"[{"id":8},{"id":9}]"#,
    ]

    @Test("a broken element affects none of its neighbours, wherever it stands", arguments: broken)
    func neighbours(broken: String) throws {
        let good = #"{"id":1},{"id":2}"#
        for (json, index) in [
            ("\(broken),\(good)", 0), (#"{"id":1},\#(broken),{"id":2}"#, 1), ("\(good),\(broken)", 2),
        ] {
            let list = try Self.list("[\(json)]", of: User.self)
            #expect(list.map(\.id) == [1, 2])
            #expect(list.skippedCount == 1)
            #expect(list.failures.count == 1)
            #expect(list.failures.first?.path.hasPrefix("[\(index)]") == true)
        }
    }

    @Test("only broken elements, and no elements at all")
    func extremes() throws {
        let all = try Self.list("[\(Self.broken.joined(separator: ","))]", of: User.self)
        #expect(all.isEmpty)
        #expect(all.skippedCount == Self.broken.count)
        let none = try Self.list("[]", of: User.self)
        #expect(none.isEmpty && none.skippedCount == 0 && none.failures.isEmpty)
    }

    @Test("the first five reasons are kept; they give the position and the kind, and none of the content")
    func reasons() throws {
        let secret = "hunter2-7c"
        enum Kind: String, Decodable { case small }
        struct Item: Decodable { var id: Int, kind: Kind? }
        struct Strict: Decodable {
            struct Odd: Error { var found: String }
            init(from decoder: any Decoder) throws {
                throw Odd(found: try decoder.singleValueContainer().decode(String.self))
            }
        }
        let list = try Self.list(
            #"[{},{"id":"\#(secret)"},{"id":null},{"id":1,"kind":"\#(secret)"},"\#(secret)",{"id":2},7,7]"#,
            of: Item.self)
        #expect(list.map(\.id) == [2])
        #expect(list.skippedCount == 7)
        #expect(list.failures.map(\.path) == ["[0].id", "[1].id", "[2].id", "[3].kind", "[4]"])
        #expect(list.failures.prefix(3).map(\.found) == ["nothing", "a value of another type", "null"])
        #expect(list.failures.prefix(3).map(\.expected) == ["a value", "Int", "Int"])
        #expect(!printed(list.failures).contains(secret))
        let strict = try Self.list(#"["\#(secret)"]"#, of: Strict.self)
        #expect(strict.failures.first?.found.contains("Odd") == true)
        #expect(!printed(strict.failures).contains(secret))
    }

    @Test("a value that is not a list is still an error", arguments: ["{}", "null", "7", #""[1]""#, "[1", "", "[1 2]"])
    func noList(json: String) {
        #expect(throws: DecodingError.self) { try Self.list(json, of: Int.self) }
    }

    @Test("an element that may be null is kept; lists of lists lose only the broken inner elements")
    func nested() throws {
        #expect(try Array(Self.list("[1,null,2]", of: Int?.self)) == [1, nil, 2])
        let lists = try Self.list(#"[[1,"x",2],[],null,7,[null,3]]"#, of: LossyList<Int>.self)
        #expect(lists.map(Array.init) == [[1, 2], [], [3]])
        #expect(lists.skippedCount == 2)
        #expect(lists.map(\.skippedCount) == [1, 0, 1])
        #expect(lists.first?.failures.first?.path == "[0][1]")
        #expect(try Array(Self.list(#"[["a"],[1],["b"]]"#, of: [String].self)) == [["a"], ["b"]])
    }

    @Test("the decoder's own strategies for dates, bytes and URLs apply to elements too")
    func strategies() throws {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .secondsSince1970
        let dates = try decoder.decode(LossyList<Date>.self, from: Data(#"[60,"x",120]"#.utf8))
        #expect(Array(dates) == [Date(timeIntervalSince1970: 60), Date(timeIntervalSince1970: 120)])
        #expect(try Array(Self.list(#"["YQ==","*"]"#, of: Data.self)) == [Data("a".utf8)])
        #expect(try Self.list(#"["https://a.test/b",1]"#, of: URL.self).first?.absoluteString == "https://a.test/b")
    }

    @Test("below a key of the response; the reasons have the full path")
    func unwrapping() async throws {
        let reply = ScriptedReply.json(#"{"users":[{"id":1},{"name":"x"},null,{"id":4}]}"#)
        let list = try await outcome(reply, as: LossyList<User>.self, below: "users").get()
        #expect(list == [User(id: 1), User(id: 4)])
        #expect(list.skippedCount == 2)
        #expect(list.failures.map(\.path) == ["users[1].id", "users[2]"])
    }

    @Test("it is a collection, equal by its elements, and encodes as a plain list")
    func collection() throws {
        let list = try Self.list("[1,null,3]", of: Int.self)
        #expect(list == [1, 3])
        #expect(Set([list, LossyList([1, 3])]).count == 1)
        #expect(list[1] == 3 && list.last == 3 && list.count == 2)
        #expect(list.reversed() == [3, 1])
        #expect(try String(decoding: JSONEncoder().encode(list), as: UTF8.self) == "[1,3]")
    }

    @Test("a hundred thousand elements, half of them broken, are read in one pass")
    func large() throws {
        let json = "[" + Array(repeating: #"{"id":1},"x""#, count: 50_000).joined(separator: ",") + "]"
        let list = try Self.list(json, of: User.self)
        #expect(list.count == 50_000)
        #expect(list.skippedCount == 50_000)
        #expect(list.failures.count == 5)
    }
}
