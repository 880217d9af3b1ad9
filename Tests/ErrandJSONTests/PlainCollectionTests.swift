@testable import ErrandJSON
import ErrandTestSupport
import Foundation
import Testing

@Suite("Collections that are read without their initializers")
struct PlainCollectionTests {
    private struct Small: Codable, Equatable {
        var id: Int
        var nickName: String?
    }

    private enum Level: String, Codable { case a, low }

    private enum Shape: Codable, Equatable {
        case a(Int)
        case k(nickName: String?)
        case c
    }

    private static let values = [
        "true", "false", "null", "0", "-0", "1", "-1", "1.0", "1e2", "1.5", "127", "128", "255", "256", "-129", "01",
        "1.", "4294967296", "9223372036854775808", "18446744073709551616", "1e40", "1e-400", "0.1", "120", "1200e-2",
        "123456789012345678901234567890.5", #""""#, #""a""#, #""inf""#, #""\u0061é""#, #""\x""#, "[]", "[1]", "{}",
        #"{"id":1}"#, #"{"id":null}"#, #""https://a.test/b?c#d""#, #""https://a test""#,
        #""E621E1F8-C36C-495A-93FC-0C247A3E6E5F""#, #""e621e1f8-c36c-495a-93fc-0c247a3e6e5f""#,
        #""E621E1F8-C36C-495A-93FC-0C247A3E6E5""#, #""E621E1F8-C36C-495A-93FC-0C247A3E6E5G""#,
        #""YQ==""#, #""YWI=""#, #""YWJj""#, #""YWJjZA==""#, #""YR==""#, #""YWI""#, #""YW I=""#, #""Y===""#, #""====""#,
        #""YWJ=YWJj""#, #""Y-_j""#, #""YWJjé""#, #""Y+/j""#,
        #""E621E1F8xC36C-495A-93FC-0C247A3E6E5F""#,
    ]

    private static let documents: [String] =
        values + values.map { "[\($0)]" } + values.map { "[[1],[\($0)]]" } + values.map { #"{"k":\#($0)}"# }
        + values.map { #"{"7":\#($0)}"# } + values.map { #"{"a_b":\#($0)}"# } + values.map { #"{"a":1,"a":\#($0)}"# }
        + [
            "[[1,2],[]]", "[[],[null]]", "[[1],2]", "[true,false,0]", "[1,true,1]", #"["a",null,"b"]"#,
            #"{"a":{"_0":1}}"#, #"{"a":{"_0":1,"_0":2}}"#, #"{"c":{}}"#, #"{"c":1}"#, #"{"d":{}}"#,
            #"[{"c":{}},{"a":{"_0":1}},{"k":{}},{"k":{"nickName":"x"}},{"a":{"_0":null}}]"#, #"{"\x":1}"#,
            #"{"a":"x","\x":1}"#, #"{"7":1,"7":2}"#, #"{"7.0":1}"#, #"{"\u0037":1}"#, #"{"99999999999999999999":1}"#,
            #"{"é":1,"e\u0301":2}"#, #"{"é":true,"e\u0301":[]}"#, "[[[1]],[[2,3]]]",
        ]

    /// Of several broken members, which one `JSONDecoder` reports is random.
    private static let severalMembers = [
        #"{"a":{"_0":1},"c":{}}"#, #"{"a":{},"b":[]}"#, #"{"b":1,"a":1}"#, #"{"7":1,"8":1}"#, #"{"a b":1,"c":1}"#,
        #"{"-7":1,"+8":1,"009":1}"#, #"{"id":1,"nick_name":"x"}"#, #"{"a":"x","é":"y"}"#, #"{"a":true,"b":null}"#,
    ]

    private static let strategies: [Strategies] = [
        Strategies(), Strategies(keys: .snakeCase), Strategies(keys: .custom), Strategies(convertsFloats: true),
    ]

    private static let elements: [any (Decodable & SendableMetatype).Type] = [
        Bool.self, String.self, Double.self, Float.self, Int.self, Int8.self, Int16.self, Int32.self, Int64.self,
        Int128.self, UInt.self, UInt8.self, UInt16.self, UInt32.self, UInt64.self, UInt128.self, Decimal.self,
        URL.self, UUID.self, Data.self, Small.self, Shape.self, Level.self,
    ]

    @Test("they have the values and the errors of JSONDecoder", arguments: elements.indices)
    func sameOutcome(element: Int) {
        func check<Value: Decodable>(_ type: Value.Type, _ strategies: Strategies) {
            for (number, document) in Self.documents.enumerated() {
                // In a usual run each type reads some of the documents, and each document is read as some types.
                guard LongRun.isWanted || number % 12 == element % 12 else { continue }
                let outcome = Outcome.both(type, Data(document.utf8), strategies)
                #expect(outcome.ours == outcome.theirs, "\(document) as \(type), \(strategies)")
            }
            for document in Self.severalMembers {
                func text(_ value: Value?) -> String { value.map { Outcome.text($0) } ?? "broken" }
                let ours = text(try? strategies.ours.decode(type, from: Data(document.utf8)))
                let theirs = text(try? strategies.theirs.decode(type, from: Data(document.utf8)))
                #expect(ours == theirs, "\(document) as \(type), \(strategies)")
            }
        }
        func checkAll<Element: Decodable>(_ type: Element.Type) {
            let all = type == Double.self || type == String.self || type == Small.self
            for strategies in all ? Self.strategies : [Strategies()] {
                check(type, strategies)
                check([Element].self, strategies)
                check([Element?].self, strategies)
                check([[Element]].self, strategies)
                check([String: Element].self, strategies)
                check([String: Element?].self, strategies)
                check([Int: Element].self, strategies)
            }
        }
        checkAll(Self.elements[element])
    }

    @Test("so do sets, whose elements may be there several times")
    func sets() {
        func check<Element: Decodable & Hashable>(_ type: Element.Type) {
            func sorted(_ decode: () throws -> Set<Element>) -> String {
                Outcome.of { try decode().map { Outcome.text($0) }.sorted() }
            }
            for document in Self.documents + [#"["a","low","a"]"#, "[1,2,1]", #"["low",null]"#] {
                let data = Data(document.utf8)
                let ours = sorted { try FastJSONDecoder().decode(Set<Element>.self, from: data) }
                let theirs = sorted { try JSONDecoder().decode(Set<Element>.self, from: data) }
                #expect(ours == theirs, "\(document) as a set of \(type)")
            }
        }
        check(String.self)
        check(Int.self)
        check(Level.self)
        check([Level].self)
    }

    /// Eight times as large as what it consists of.
    private struct Eightfold<Part> {
        var parts: (Part, Part, Part, Part, Part, Part, Part, Part)?
    }

    private struct Large: Decodable, Hashable {
        var bytes = Eightfold<Eightfold<Eightfold<Eightfold<Int>>>>()
        var number: Int

        enum CodingKeys: CodingKey { case number }

        static func == (one: Large, other: Large) -> Bool { one.number == other.number }
        func hash(into hasher: inout Hasher) { hasher.combine(number) }
    }

    @Test("a collection gets memory as its elements come: reserving it for all of them would need more than there is")
    func memory() throws {
        #expect(MemoryLayout<Large>.size > 30_000)
        func check<Value: Decodable>(_ type: Value.Type, _ document: String, at key: String) throws {
            let error = #expect(throws: DecodingError.self) {
                try FastJSONDecoder().decode(type, from: Data(document.utf8))
            }
            guard case .typeMismatch(_, let context) = error else { throw try #require(error) }
            #expect(context.codingPath.map(\.stringValue) == [key])
        }
        let count = 2_000_000
        let list = "[\(String(repeating: "0,", count: count))0]"
        try check([Large].self, list, at: "Index 0")
        try check(Set<Large>.self, list, at: "Index 0")
        try check([String: Large].self, "{\(String(repeating: #""a":0,"#, count: count))\"a\":0}", at: "a")
    }

    @Test("a decimal number is that of its digits, to the exponent")
    func decimals() throws {
        var random = SeededRandom(11)
        for _ in 0..<3000 {
            let digits = (0..<Int.random(in: 1...24, using: &random)).map { _ in
                random.chance(30) ? "0" : "\(Int.random(in: 0...9, using: &random))"
            }.joined()
            var number = random.chance(50) ? "-" : ""
            number += "\(Int.random(in: 1...9, using: &random))\(digits)"
            if random.chance(60) { number += ".\(digits.reversed().map(String.init).joined())" }
            if random.chance(40) { number += "e\(Int.random(in: -140...140, using: &random))" }
            let outcome = Outcome.both([Decimal].self, Data("[\(number)]".utf8))
            #expect(outcome.ours == outcome.theirs, "\(number)")
        }
    }

    // MARK: Large objects

    private static func object(_ keys: [String]) -> Data {
        Data("{\(keys.enumerated().map { "\"\($1)\":\($0)" }.joined(separator: ","))}".utf8)
    }

    private struct Members: Decodable {
        var values: [String: Int?]

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: AnyKey.self)
            values = [:]
            // From the last one to the first, each of them after one that is missing.
            for key in container.allKeys.sorted(by: { $0.stringValue > $1.stringValue }) {
                let missing = AnyKey(key.stringValue + "?")
                values[missing.stringValue] = container.contains(missing) ? 1 : 0
                values[key.stringValue] = try container.decodeIfPresent(Int.self, forKey: key)
            }
            // An object with keys in ASCII may have one that is equivalent to another one.
            values["é"] = try container.decodeIfPresent(Int.self, forKey: AnyKey("é"))
            values["kelvin"] = try container.decodeIfPresent(Int.self, forKey: AnyKey("\u{212A}"))
        }
    }

    @Test(
        "the members of a large object are found in any order, the first of those with the same key",
        arguments: [31, 32, 33, 40, 200, 1000], [0, 1])
    func largeObjects(count: Int, strategy: Int) throws {
        let keys = (0..<count).map { "key_\($0 * 7 % 91)_\($0 / 3)" } + ["key_0_0", "K"]
        let outcome = Outcome.both(Members.self, Self.object(keys), Self.strategies[strategy])
        #expect(outcome.ours == outcome.theirs)
        #expect(outcome.ours.hasPrefix("(values:"))
    }

    // MARK: The end of interest

    private struct Stopped: Error {}

    private final class Recipient: Stoppable {
        let isStopped: Bool

        init(isStopped: Bool) { self.isStopped = isStopped }

        func throwIfStopped() throws { if isStopped { throw Stopped() } }
    }

    @Test("a decoding that was stopped ends with the error of the question", arguments: [true, false])
    func stops(isStopped: Bool) throws {
        let count = LongRun.isWanted ? 40_000 : 20_000
        func list(_ element: String) -> Data {
            Data("[\(Array(repeating: element, count: count).joined(separator: ","))]".utf8)
        }
        func object(_ value: String) -> Data {
            Data("{\((0..<count).map { "\"k\($0)\":\(value)" }.joined(separator: ","))}".utf8)
        }
        func check<Value: Decodable>(_ type: Value.Type, _ data: Data) {
            let recipient = Recipient(isStopped: isStopped)
            let decode = { _ = try FastJSONDecoder().decode(type, from: data, below: [], for: recipient) }
            if isStopped {
                #expect(throws: Stopped.self, "\(type)") { try decode() }
            } else {
                #expect(throws: Never.self, "\(type)") { try decode() }
            }
        }
        check([Bool].self, list("true"))
        check([UInt8].self, list("7"))
        check([Float].self, list("1.5"))
        check([Int?].self, list("null"))
        check([Decimal].self, list("1.5"))
        check([UUID].self, list(#""E621E1F8-C36C-495A-93FC-0C247A3E6E5F""#))
        check([[Bool]].self, list("[true]"))
        check([String: Bool].self, object("true"))
        check([String: Small].self, object(#"{"id":1}"#))
        check(Members.self, object("1"))
    }
}
