import Errand
import Foundation
import Testing

@Suite("Formats of dates in JSON")
struct JSONDatesTests {
    private static let day = Date(timeIntervalSince1970: 1_795_737_600)
    private static let forms: [(JSONDates, read: [String], written: String)] = [
        (.day, [#""2026-11-27""#], #""2026-11-27""#),
        (
            [.iso8601, .day],
            [
                #""2026-11-27T00:00:00Z""#, #""2026-11-27T00:00:00.000Z""#, #""2026-11-27T01:00:00+01:00""#,
                #""2026-11-27""#,
            ],
            #""2026-11-27T00:00:00Z""#
        ),
        ([.day, .iso8601, .secondsSince1970], [#""2026-11-27""#, "1795737600", "1795737600.0"], #""2026-11-27""#),
        ([.millisecondsSince1970], ["1795737600000"], "1795737600000"),
        ([[.secondsSince1970], [.day]], [#""2026-11-27""#, "1795737600"], "1795737600"),
        ([], [#""2026-11-27T00:00:00Z""#], #""2026-11-27T00:00:00Z""#),
    ]

    @Test("each format of a list is read, and the first is written", arguments: 0..<forms.count)
    func formats(index: Int) throws {
        let (dates, texts, written) = Self.forms[index]
        let decoder: FastJSONDecoder = .json(dates: dates)
        for text in texts {
            #expect(try decoder.decode([Date].self, from: Data("[\(text)]".utf8)) == [Self.day], "\(text)")
            let member = Data(#"{"at": \#(text)}"#.utf8)
            #expect(try decoder.decode([String: Date].self, from: member) == ["at": Self.day], "\(text)")
        }
        let encoder: JSONEncoder = .json(dates: dates)
        #expect(String(decoding: try encoder.encode([Self.day]), as: UTF8.self) == "[\(written)]")
    }

    @Test(
        "a date in another format is an error that names the formats, and its place",
        arguments: [
            #""2026-11-27T00:00:00Z""#, #""2026-13-27""#, #""2026-11-2""#, #""26-11-2027""#, #""soon""#, "true", "{}",
            "1e999",
        ])
    func others(text: String) throws {
        let decoder: FastJSONDecoder = .json(dates: [.day, .secondsSince1970])
        let error = try #require(throws: DecodingError.self) {
            try decoder.decode([[String: Date]].self, from: Data(#"[{"at": \#(text)}]"#.utf8))
        }
        let failure = DecodingFailure(error, decoding: Date.self)
        #expect(failure.path == "[0].at" || text == "1e999", "\(failure)")
        if text != "1e999" {
            #expect(failure.found == "a date in none of the forms: yyyy-MM-dd, seconds since 1970", "\(failure)")
        }
    }

    @Test("a missing date is nil")
    func missing() throws {
        struct Note: Decodable { var at: Date? }
        let decoder: FastJSONDecoder = .json(dates: [.day, .iso8601])
        #expect(try decoder.decode(Note.self, from: Data("{}".utf8)).at == nil)
        #expect(try decoder.decode(Note.self, from: Data(#"{"at": null}"#.utf8)).at == nil)
    }
}
