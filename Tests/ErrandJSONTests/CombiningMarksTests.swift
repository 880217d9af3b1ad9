@testable import ErrandJSON
import ErrandTestSupport
import Foundation
import Testing

@Suite("Long runs of combining marks")
struct CombiningMarksTests {
    private static let (above, below) = ("\u{301}", "\u{316}")

    private static func text(_ count: Int) -> String {
        "e" + String(repeating: above, count: count / 2) + String(repeating: below, count: count - count / 2)
    }

    @Test("129 marks in a row are sorted, and the text is equal; 128 stay as they are")
    func limit() {
        for before in ["", "a", String(repeating: "x", count: 255), String(repeating: "東", count: 700)] {
            let (few, many) = (before + Self.text(128) + "e", before + Self.text(129) + "e")
            #expect(Array(CombiningMarks.sorted(few).utf8) == Array(few.utf8))
            let sorted = CombiningMarks.sorted(many)
            #expect(sorted == many)
            let expected =
                before + "e" + String(repeating: Self.below, count: 65) + String(repeating: Self.above, count: 64) + "e"
            #expect(Array(sorted.utf8) == Array(expected.utf8))
        }
    }

    @Test("every long run is sorted, wherever it begins and ends, and nothing else is changed")
    func everyRun() {
        var random = SeededRandom(3)
        for _ in 0..<200 {
            let parts = (0..<6).map { _ in
                (String(repeating: "é", count: random.int(0...300)), random.int(0...1) == 0 ? 0 : random.int(1...300))
            }
            let text = parts.map { $0 + Self.text($1) }.joined()
            let expected = parts.map { plain, count in
                let marks = String(Self.text(count).unicodeScalars.dropFirst())
                let isLong = count > 128
                let ordered = String(marks.unicodeScalars.filter { $0 == "\u{316}" }.map(Character.init))
                let rest = String(marks.unicodeScalars.filter { $0 != "\u{316}" }.map(Character.init))
                return plain + "e" + (isLong ? ordered + rest : marks)
            }
            #expect(Array(CombiningMarks.sorted(text).utf8) == Array(expected.joined().utf8))
        }
    }

    @Test("marks of one class keep their order")
    func stable() {
        let text = "a" + String(repeating: "\u{301}\u{300}", count: 100)
        #expect(Array(CombiningMarks.sorted(text).utf8) == Array(text.utf8))
    }

    @Test("a text and a key that are decoded have their marks in order, escaped or not")
    func decoded() throws {
        let text = Self.text(1000)
        let escaped = "e" + String(repeating: #"\u0301"#, count: 500) + String(repeating: #"\u0316"#, count: 500)
        for written in [text, escaped] {
            let data = Data(#"{"\#(written)":"\#(written)"}"#.utf8)
            let object = try FastJSONDecoder().decode([String: String].self, from: data)
            #expect(object == [text: text])
            #expect(object.keys.first?.unicodeScalars.dropFirst().first == "\u{316}")
            #expect(object.values.first?.unicodeScalars.dropFirst().first == "\u{316}")
        }
    }
}
