import ErrandJSON
import Foundation
import Testing

@Suite("Dates in JSON")
struct JSONDateTests {
    private func outcomes(_ text: String) -> (ours: String, theirs: String) {
        var ours = FastJSONDecoder()
        ours.dateDecodingStrategy = .iso8601
        let theirs = JSONDecoder()
        theirs.dateDecodingStrategy = .iso8601
        let data = Data("[\"\(text)\"]".utf8)
        func outcome(_ decode: () throws -> [Date]) -> String {
            // Their paths are different, as documented.
            (try? decode()).map { Outcome.text($0) } ?? "none"
        }
        return (
            outcome { try ours.decode([Date].self, from: data) }, outcome { try theirs.decode([Date].self, from: data) }
        )
    }

    @Test(
        "a date by ISO 8601 is read or refused as by JSONDecoder",
        arguments: [
            "2026-11-22T10:30:00Z", "2026-11-22T10:30:00z", "2026-11-22t10:30:00Z", "2026-11-22T10:30:00+02:00",
            "2026-11-22T10:30:00+0200", "2026-11-22T10:30:00+02", "2026-11-22T10:30:00-00:00", "2026-11-22T10:30:00",
            "2026-02-28T23:59:59Z", "2026-02-29T00:00:00Z", "2024-02-29T00:00:00Z", "2026-02-30T10:30:00Z",
            "2026-04-30T10:30:00Z", "2026-04-31T10:30:00Z", "2026-12-31T23:59:59Z", "2026-11-22T24:00:00Z",
            "2026-11-22T23:59:60Z", "2026-13-22T10:30:00Z", "2026-00-10T00:00:00Z", "2026-01-00T00:00:00Z",
            "2026-11-22T10:30:00.5Z", "2026-11-22T10:30:00.250Z", "2026-11-22T10:30:00.Z", "2026-11-22T10:30:00Zx",
            "2026-11-22 10:30:00Z", "20261122T103000Z", "2026-11-22T10:30:00 Z", " 2026-11-22T10:30:00Z", "",
            "2026-11-22T10:30:00+25:00", "2026-11-22T10:30:00+02:70", "2026-11-22T10:30:00+14:00",
            "2026-11-22T10:30:00-14:59", "2026-11-22T10:30:00+15:00", "2026-11-22T10:60:00Z",
            "2026-11-22T10:30:00+2:00",
            "0001-01-01T00:00:00Z", "1582-10-10T00:00:00Z", "1599-12-31T00:00:00Z", "1600-01-01T00:00:00Z",
            "1600-02-29T00:00:00Z", "1700-02-29T00:00:00Z", "1900-03-01T00:00:00Z", "2000-02-29T12:00:00Z",
            "2000-12-31T23:59:59Z", "2001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "10000-01-01T00:00:00Z",
            "2026-11-22T10:30:0Z", "202-11-22T10:30:00Z", "2026-1-2T10:30:00Z", "２026-11-22T10:30:00Z",
            "2026\\u002d11-22T10:30:00Z",
        ])
    func sameDates(text: String) {
        let outcomes = outcomes(text)
        #expect(outcomes.ours == outcomes.theirs)
    }

    @Test("every day of some centuries is read as by JSONDecoder")
    func everyDay() throws {
        let style = Date.ISO8601FormatStyle()
        var ours = FastJSONDecoder()
        ours.dateDecodingStrategy = .iso8601
        let days = stride(from: -12_654_403_200.0, to: 60_000_000_000, by: 86_400 * 11 + 7_211).map {
            Date(timeIntervalSinceReferenceDate: $0)
        }
        let data = try JSONEncoder().encode(days.map { style.format($0) })
        #expect(try ours.decode([Date].self, from: data) == days)
    }

    @Test("thousandths of a second are read as by the format style")
    func fractions() throws {
        let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        var ours = FastJSONDecoder()
        ours.dateDecodingStrategy = .iso8601WithOptionalFractions
        for thousandth in 0..<1000 {
            let text =
                "20\(10 + thousandth % 90)-11-22T10:30:\(10 + thousandth % 50).\("\(thousandth + 1000)".dropFirst())Z"
            let date = try style.parse(text)
            #expect(try ours.decode([Date].self, from: Data("[\"\(text)\"]".utf8)) == [date], "\(text)")
        }
        for text in ["2026-11-22T10:30:00.5Z", "2026-11-22T10:30:00.123456789Z", "2026-11-22T10:30:00.250+02:00"] {
            let date = try style.parse(text)
            #expect(try ours.decode([Date].self, from: Data("[\"\(text)\"]".utf8)) == [date], "\(text)")
        }
    }
}
