@testable import Errand
import ErrandTestSupport
import Foundation
import Testing

@Suite(
    "The time to read errors and broken lists grows with the bytes, and not faster", .timeLimit(.minutes(10)),
    .serialized)
struct ErrorBodyTimeTests {
    /// A document of a size, and what reads it.
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let size: Int
        let document: @Sendable (Int) -> String
        let read: @Sendable (Data) -> Void
    }

    @Test("C91: four times the bytes take at most six times as long", arguments: errorCases + listCases)
    func growth(of example: Case) async {
        let size = LongRun.isWanted ? example.size : max(1, example.size / 3)
        let factor = await OwnThread.run {
            Growth.factor({ Data(example.document($0).utf8) }, size: size, upTo: 6, example.read)
        }
        #expect(factor <= 6, "\(example.testDescription)")
    }

    private static func joined(_ element: String, _ count: Int) -> String {
        "[\(Array(repeating: element, count: count).joined(separator: ","))]"
    }

    private static func object(_ count: Int, _ key: (Int) -> String) -> String {
        "{\((0..<count).map { "\"\(key($0))\":\($0)" }.joined(separator: ","))}"
    }

    /// Combining marks of two classes, in the order that takes longest to sort.
    private static func marks(_ count: Int) -> String {
        "e" + String(repeating: "\u{301}", count: count / 2) + String(repeating: "\u{316}", count: count / 2)
    }

    // MARK: Bodies of errors

    private static func error(_ name: String, _ size: Int, _ document: @escaping @Sendable (Int) -> String) -> Case {
        Case(testDescription: name, size: size, document: document) { data in
            _ = ErrorBody(data, redactor: .standard)
        }
    }

    private static let errorCases = [
        error("an error with a key of marks", 4000) { #"{"\#(marks($0))":1,"a":2}"# },
        error("an error with marks in texts", 4000) { #"{"message":"\#(marks($0 + 2))","error":"\#(marks($0))"}"# },
        error("an error with a field of marks", 4000) { count in
            #"{"errors":[{"field":"\#(marks(count))","message":"no"}]}"#
        },
        error("an error with a member of marks", 4000) { #"{"errors":{"\#(marks($0))":"no"}}"# },
        error("an error with many numbers", 1000) { #"{"errors":\#(joined("1", $0))}"# },
        error("an error with many errors", 500) { #"{"errors":\#(joined(#"{"field":"a","message":"b"}"#, $0))}"# },
        error("an error with many fields", 500) { count in #"{"errors":\#(object(count) { "key \($0)" })}"# },
        error("an error with many members", 500) { count in object(count) { "key \($0)" } },
        error("an error in errors, four times as deep", 120) { count in
            String(repeating: #"{"error":"#, count: count) + "1" + String(repeating: "}", count: count)
        },
    ]

    // MARK: Lists with broken elements

    private static func list<Element: Decodable & Sendable>(
        _ name: String, _ size: Int, of element: Element.Type, _ document: @escaping @Sendable (Int) -> String
    ) -> Case {
        Case(testDescription: name, size: size, document: document) { data in
            _ = try? FastJSONDecoder().decode(LossyList<Element>.self, from: data)
        }
    }

    private static func digits(_ count: Int) -> String { String(repeating: "7", count: count) }

    private static let listCases = [
        list("numbers with fractions as integers", 1000, of: Int.self) { joined("1.5", $0) },
        list("malformed numbers", 1000, of: Double.self) { joined("01", $0) },
        list("malformed texts", 1000, of: String.self) { joined(#""\x""#, $0) },
        list("a long integer", 4000, of: Int.self) { "[\(digits($0)),\(digits($0)).0]" },
        list("a long integer of 128 bits", 4000, of: Int128.self) { "[\(digits($0)),\(digits($0)).0]" },
    ]
}
