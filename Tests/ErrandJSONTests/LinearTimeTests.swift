import ErrandJSON
import ErrandTestSupport
import Foundation
import Testing

@Suite("The time to decode grows with the bytes, and not faster", .timeLimit(.minutes(30)), .serialized)
struct LinearTimeTests {
    /// A document of a size, and what reads it.
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let size: Int
        let document: @Sendable (Int) -> String
        let decode: @Sendable (Data) -> Void

        init(
            _ name: String, _ size: Int, _ document: @escaping @Sendable (Int) -> String,
            _ decode: @escaping @Sendable (Data) -> Void
        ) {
            (testDescription, self.size, self.document, self.decode) = (name, size, document, decode)
        }

        /// A case of a model. Whether it can be decoded does not matter.
        init<Value: Decodable & SendableMetatype>(
            _ name: String, _ size: Int, as type: Value.Type, _ strategies: Strategies = Strategies(),
            below keys: [String] = [], _ document: @escaping @Sendable (Int) -> String
        ) {
            self.init(name, size, document) { data in
                var decoder = strategies.ours
                if case .deferred = strategies.dates { decoder.dateDecodingStrategy = .iso8601WithOptionalFractions }
                _ = try? decoder.decode(type, from: data, below: keys)
            }
        }
    }

    @Test(
        "C91: four times the bytes take at most six times as long",
        arguments: trialCases + markCases + textCases + objectCases)
    func growth(of example: Case) async {
        let size = LongRun.isWanted ? example.size : max(1, example.size / 3)
        let factor = await OwnThread.run {
            Growth.factor({ Data(example.document($0).utf8) }, size: size, upTo: 6, example.decode)
        }
        #expect(factor <= 6, "\(example.testDescription)")
    }

    // MARK: Types that are tried in turn

    private enum Either: Decodable {
        case integer(Int), text(String), number(Double), list([Either]), object([String: Either])

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let value = try? container.decode(Int.self) {
                self = .integer(value)
            } else if let value = try? container.decode(String.self) {
                self = .text(value)
            } else if let value = try? container.decode([Either].self) {
                self = .list(value)
            } else if let value = try? container.decode([String: Either].self) {
                self = .object(value)
            } else {
                self = .number(try container.decode(Double.self))
            }
        }
    }

    private static func list(_ element: String, _ count: Int) -> String {
        "[\(Array(repeating: element, count: count).joined(separator: ","))]"
    }

    private static func nested(_ depth: Int, _ count: Int) -> String {
        list(String(repeating: "[", count: depth) + String(repeating: "]", count: depth), count)
    }

    private static let trialCases = [
        Case("numbers with fractions as any JSON", 1000, as: JSONValue.self) { list("1.5", $0) },
        Case("fractions in lines, by a model that tries types", 500, as: Either.self) { list("\n1.5", $0) },
        Case("arrays in arrays as any JSON, four times as deep", 120, as: JSONValue.self) { nested($0, 50) },
        Case("arrays 500 deep as any JSON", 10, as: JSONValue.self) { nested(500, $0) },
        Case("arrays 500 deep by a model that tries types", 2, as: Either.self) { nested(500, $0) },
        Case("objects 400 deep as any JSON", 4, as: JSONValue.self) { count in
            list(String(repeating: #"{"a":"#, count: 400) + "1.5" + String(repeating: "}", count: 400), count)
        },
        Case("texts, truth values and nulls as any JSON", 500, as: JSONValue.self) {
            list(#""a",true,null,{"b":1}"#, $0)
        },
    ]

    // MARK: Combining marks

    private enum Level: String, Decodable { case low, high }
    private struct Small: Decodable { var a: Int, levelName: Level? }
    private struct Named: Decodable { var größe: Int }
    private struct AllKeys: Decodable {
        private enum Key: String, CodingKey { case a, größe }
        var keys: Int

        init(from decoder: any Decoder) throws {
            keys = try decoder.container(keyedBy: Key.self).allKeys.count
        }
    }

    /// Marks of two classes, in the order that takes longest to sort.
    private static func marks(_ count: Int) -> String {
        "e" + String(repeating: "\u{301}", count: count / 2) + String(repeating: "\u{316}", count: count / 2)
    }

    private static func keyed(_ count: Int) -> String { #"{"\#(marks(count))":1,"a":2}"# }
    private static let snakeCase = Strategies(keys: .snakeCase)
    private static let custom = Strategies(keys: .custom)

    private static let markCases = [
        Case("a key of marks, for a model", 4000, as: Small.self) { keyed($0) },
        Case("a key of marks, for a model with a key like that", 4000, as: Named.self) { keyed($0) },
        Case("a key of marks, for a model that asks for all keys", 4000, as: AllKeys.self) { keyed($0) },
        Case("a key of marks, in snake case", 4000, as: Small.self, snakeCase) { keyed($0) },
        Case("a key of marks, by a strategy", 4000, as: Small.self, custom) { keyed($0) },
        Case("a key of marks, in a dictionary", 4000, as: [String: Int].self) { keyed($0) },
        Case("a key of marks, in a dictionary beside snake case", 4000, as: [String: Int].self, snakeCase) {
            keyed($0)
        },
        Case("a key of marks, in any JSON", 4000, as: JSONValue.self) { keyed($0) },
        Case("a key of marks, in an envelope", 4000, as: Int.self, below: ["b"]) { keyed($0) },
        Case("a key of escaped marks", 2000, as: Small.self) { count in
            #"{"\#(String(repeating: #"\u0301\u0316"#, count: count))":1,"a":2}"#
        },
        Case("keys of a hundred marks", 100, as: [String: Int].self) { count in
            "{\((0..<count).map { #""\#($0)\#(marks(100))":1"# }.joined(separator: ","))}"
        },
        Case("a text of marks, as an enumeration", 4000, as: [Level].self) { #"["\#(marks($0))"]"# },
        Case("a text of marks, in a set", 4000, as: Set<String>.self) { #"["\#(marks($0))"]"# },
        Case("a text of marks, as a date", 4000, as: [Date].self) { #"["\#(marks($0))"]"# },
        Case("a text of marks, as a URL", 4000, as: [URL].self) { #"["https://a.test/\#(marks($0))"]"# },
        Case("a text of marks, as a host", 4000, as: [URL].self) { #"["https://\#(marks($0)).test/"]"# },
        Case("a text of marks, as Base64", 4000, as: [Data].self) { #"["\#(marks($0))"]"# },
    ]

    // MARK: Texts and numbers

    private static func text(_ part: String, _ count: Int) -> String {
        #"["\#(String(repeating: part, count: count))"]"#
    }

    private static func digits(_ count: Int) -> String { String(repeating: "7", count: count) }

    private static let textCases = [
        Case("a text with escape sequences", 4000, as: [String].self) { text(#"\n\u00e9"#, $0) },
        Case("a text in Japanese", 4000, as: [String].self) { text("東京が", $0) },
        Case("a text without spaces, as a date", 4000, as: [Date].self) { text("2026-11-22", $0) },
        Case("a number of fractions, as a date", 4000, as: [Date].self) { #"["2026-11-22T10:30:00.\#(digits($0))Z"]"# },
        Case("a long URL", 4000, as: [URL].self) { text("https://a.test/a/../%41é?#", $0) },
        Case("many URLs", 100, as: [URL].self) { list(#""https://a.test/b?c=d""#, $0) },
        Case("many dates", 100, as: [Date].self) { list(#""2026-11-22T10:30:00.1234567Z""#, $0) },
        Case("Base64", 4000, as: [Data].self) { text("YWJj", $0) },
        Case("many decimal numbers", 200, as: [Decimal].self) { list("12345.678901234567890123", $0) },
        Case("a long decimal number", 4000, as: [Decimal].self) { "[\(digits($0)).5]" },
        Case("a long fraction, as a decimal number", 4000, as: [Decimal].self) { "[0.\(digits($0))]" },
        Case("a long number", 4000, as: [Double].self) { "[0.\(digits($0))]" },
        Case("a long number with as long an exponent", 4000, as: [Double].self) { count in
            "[0.\(String(repeating: "0", count: count))\(digits(800))e\(count)]"
        },
    ]

    // MARK: Objects

    private struct Super: Decodable {
        var small: Int?

        init(from decoder: any Decoder) throws {
            var list = try decoder.unkeyedContainer()
            while !list.isAtEnd { _ = try list.superDecoder().container(keyedBy: AnyKey.self).superDecoder() }
        }
    }

    /// A model that asks for all keys from the last to the first, each of them after a missing one.
    private struct Backwards: Decodable {
        var sum = 0

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: AnyKey.self)
            for key in container.allKeys.reversed() {
                if container.contains(AnyKey(key.stringValue + "?")) { sum += 1 }
                sum += try container.decode(Int.self, forKey: key)
            }
        }
    }

    private static func object(_ count: Int, _ key: (Int) -> String) -> String {
        "{\((0..<count).map { "\"\(key($0))\":\($0)" }.joined(separator: ","))}"
    }

    private static let objectCases = [
        Case("a dictionary", 500, as: [String: Int].self) { object($0) { "key \($0)" } },
        Case("a dictionary in snake case", 500, as: [String: Int].self, snakeCase) { object($0) { "key_\($0)" } },
        Case("a dictionary with one key over and over", 500, as: [String: Int].self) { object($0) { _ in "key" } },
        Case("a dictionary by number", 500, as: Members<[Int: Int]>.self) { object($0) { "\($0)" } },
        Case("many members, for a model", 500, as: Small.self) { object($0) { "key \($0)" } },
        Case("many members, in snake case", 500, as: Small.self, snakeCase) { object($0) { "snake_key_\($0)" } },
        Case("many members, by a strategy", 500, as: Small.self, custom) { object($0) { "key\($0)" } },
        Case("many members, from the last to the first", 500, as: Backwards.self) { object($0) { "key \($0)" } },
        Case("many members, from the last to the first, in snake case", 500, as: Backwards.self, snakeCase) {
            object($0) { "key_\($0)" }
        },
        Case("many members of the same length", 500, as: Backwards.self) { object($0) { "key \(100_000 + $0)" } },
        Case("a long key in snake case", 4000, as: Small.self, snakeCase) { count in
            object(2) { _ in String(repeating: "snake_é", count: count) }
        },
        Case("a key of underscores", 4000, as: Small.self, snakeCase) { count in
            object(2) { _ in String(repeating: "_", count: count) + "é" + String(repeating: "_", count: count) }
        },
        Case("an envelope among many members", 500, as: Int.self, below: ["key_7"]) { object($0) { "Key\($0)é" } },
        Case("decoders of what is around", 500, as: Super.self) { list(#"{"super":[]}"#, $0) },
    ]
}
