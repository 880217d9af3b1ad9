import ErrandJSON
import Foundation
import Testing

@Suite("All differences to JSONDecoder")
struct DecoderDifferenceTests {
    private struct Keys: Decodable {
        var names: [String]

        init(from decoder: any Decoder) throws {
            names = try decoder.container(keyedBy: AnyKey.self).allKeys.map(\.stringValue)
        }
    }

    private struct Dated: Decodable {
        var dates: [Date]
    }

    private struct Catching: Decodable {
        var isDecodingError: Bool

        init(from decoder: any Decoder) throws {
            do {
                _ = try decoder.singleValueContainer().decode(UInt8.self)
                isDecodingError = false
            } catch { isDecodingError = error is DecodingError }
        }
    }

    private func failure(_ decode: () throws -> Void) throws -> DecodingError.Context {
        let error = #expect(throws: DecodingError.self) { try decode() }
        guard case .dataCorrupted(let context) = error else { throw try #require(error) }
        return context
    }

    @Test("these, as the documentation lists them, and no others that the other tests find")
    func differences() throws {
        // The strategy for dates that the other decoder does not have.
        var fractions = FastJSONDecoder()
        fractions.dateDecodingStrategy = .iso8601WithOptionalFractions
        let dates = Data(#"["2026-11-22T10:30:00Z", "2026-11-22T10:30:00.250Z"]"#.utf8)
        let seconds = try fractions.decode([Date].self, from: dates).map(\.timeIntervalSince1970)
        #expect(seconds == [1_795_343_400, 1_795_343_400.25])

        // Keys have the order of the document.
        let many = (0..<50).map { "k\($0)" }
        let document = Data("{\(many.map { "\"\($0)\":0" }.joined(separator: ","))}".utf8)
        #expect(try FastJSONDecoder().decode(Keys.self, from: document).names == many)

        // The place of a syntax error.
        let broken = try failure { _ = try FastJSONDecoder().decode([Int].self, from: Data("[1,\n2 3]".utf8)) }
        let fault = try #require(broken.underlyingError as? JSONFault)
        #expect(fault.line == 2 && fault.column == 3)
        #expect(broken.underlyingError.map { "\($0)" } == "unexpected character at line 2, column 3")
        let number = try failure { _ = try FastJSONDecoder().decode([UInt8].self, from: Data("[1, 300]".utf8)) }
        #expect(number.underlyingError.map { "\($0)" } == "a number that the type cannot represent at line 1, column 5")

        // What a model catches.
        #expect(try FastJSONDecoder().decode(Catching.self, from: Data("300".utf8)).isDecodingError)
        #expect(try !JSONDecoder().decode(Catching.self, from: Data("300".utf8)).isDecodingError)

        // The path to a date.
        var iso = FastJSONDecoder()
        iso.dateDecodingStrategy = .iso8601
        let other = JSONDecoder()
        other.dateDecodingStrategy = .iso8601
        let dated = Data(#"{"dates": ["x"]}"#.utf8)
        let ours = try failure { _ = try iso.decode(Dated.self, from: dated) }
        let theirs = try failure { _ = try other.decode(Dated.self, from: dated) }
        #expect(ours.codingPath.map(\.stringValue) == ["dates", "Index 0"])
        #expect(theirs.codingPath.map(\.stringValue) == ["dates"])
        #expect(ours.debugDescription == theirs.debugDescription)

        // Zero.
        #expect(try FastJSONDecoder().decode([Double].self, from: Data("[0e5]".utf8)) == [0])
        #expect(throws: DecodingError.self) { try JSONDecoder().decode([Double].self, from: Data("[0e5]".utf8)) }
    }
}
