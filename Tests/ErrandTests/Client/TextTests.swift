import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("Text and JSON of many kinds as a response")
struct TextTests {
    private func run<Response>(
        _ endpoint: Endpoint<Response>, _ type: String?, _ body: [UInt8],
        _ configure: (inout Configuration) -> Void = { _ in }
    ) async throws -> Response {
        let network = scripted()
        var response = HTTPResponse(status: 200, body: .bytes(Data(body)))
        response.headers["Content-Type"] = type
        let answer = response
        network.onAny { .response(answer) }
        return try await testClient(network, TestClock(), configure).run(endpoint)
    }

    @Test("a String is the text of a response that is not JSON, and the string of one that is")
    func strings() async throws {
        let text = Endpoint<String>.get("x")
        #expect(try await run(text, "text/plain", Array("a\"b ü".utf8)) == "a\"b ü")
        #expect(try await run(text, "text/html; charset=ISO-8859-1", [0x61, 0xFC]) == "aü")
        #expect(try await run(text, "text/plain", [0xEF, 0xBB, 0xBF, 0x61]) == "a")
        #expect(try await run(text, "text/plain", []) == "")
        #expect(try await run(text, "application/json", Array(#""a\"b""#.utf8)) == "a\"b")
        await #expect(throws: ServiceError.self) { try await run(text, "text/plain", [0x61, 0xFF, 0xFE]) }
        await #expect(throws: ServiceError.self) { try await run(text, "application/json", Array("a".utf8)) }
    }

    @Test(
        "a String is the text also where any type is accepted; JSON is what says so, or what the client names",
        arguments: [["*/*"], ["text/*"], ["application/json", "*/*"], ["text/pl*"]])
    func patterns(accepted: [String]) async throws {
        func string(_ type: String?, _ body: String, adding more: [String] = []) async throws -> String {
            try await run(Endpoint<String>.get("x"), type, Array(body.utf8)) {
                $0.acceptedContentTypes = accepted + more
            }
        }
        #expect(try await string("text/plain", "a\"b") == "a\"b")
        #expect(try await string("text/plain; charset=utf-8", "\"a\"") == "\"a\"")
        #expect(try await string("text/html", "") == "")
        #expect(try await string("text/plain", "\"a\"", adding: ["Text/Plain"]) == "a")
        #expect(try await string(nil, "\"a\"") == "a")
        if accepted.contains("*/*") {
            #expect(try await string("application/vnd.api+json; a=b", "\"a\"") == "a")
            #expect(try await string("Text/JSON", "\"a\"") == "a")
            #expect(
                try await run(Endpoint<Int>.get("x"), "text/plain", [0x37]) { $0.acceptedContentTypes = accepted } == 7)
        }
    }

    @Test("a String is read by the charset of its type, and a byte order mark counts more")
    func charsets() async throws {
        let text = Endpoint<String>.get("x")
        let (little, big) = ([UInt8]([0x61, 0, 0xAC, 0x20]), [UInt8]([0, 0x61, 0x20, 0xAC]))
        #expect(try await run(text, "text/plain; charset=utf-16le", little) == "a€")
        #expect(try await run(text, "text/plain;charset=\"UTF-16BE\"", big) == "a€")
        #expect(try await run(text, "text/plain;charset=utf-16", little) == "a€")
        #expect(try await run(text, "text/plain;charset=utf-16", [0xFE, 0xFF] + big) == "a€")
        #expect(try await run(text, "text/plain;charset=utf-16be", [0xFF, 0xFE] + little) == "a€")
        #expect(try await run(text, "text/plain", [0xFF, 0xFE] + little) == "a€")
        #expect(try await run(text, "text/plain;charset=latin1", [0xEF, 0xBB, 0xBF, 0xE2, 0x82, 0xAC]) == "€")
        for name in ["windows-1252", "latin1", "ISO-8859-1", "us-ascii"] {
            #expect(try await run(text, "text/plain; a=b; charset=\(name) ", [0x61, 0x80, 0xFC]) == "a€ü")
        }
        #expect(try await run(text, "text/html; Charset=iso-8859-15", [0xA4, 0xBE, 0xFC]) == "€Ÿü")
    }

    @Test("a String of another charset, or with bytes that are none of it, names the charset")
    func unknownCharsets() async throws {
        for (type, body, found) in [
            ("text/plain; charset=koi8-r", [0x61], "the charset koi8-r"),
            ("text/plain; charset=utf-16", [0x61, 0, 0x61], "bytes that are not valid utf-16"),
            ("text/plain; charset=utf-16le", [0, 0xD8], "bytes that are not valid utf-16le"),
            ("text/plain", [0x61, 0xFF], "bytes that are not valid utf-8"),
        ] as [(String, [UInt8], String)] {
            let error = await #expect(throws: ServiceError.self) {
                try await run(Endpoint<String>.get("x"), type, body)
            }
            guard case .decodingFailed(let failure) = error else { throw try #require(error) }
            #expect(failure.found == found)
            #expect(!failure.description.contains("acceptedContentTypes"))
        }
    }

    @Test("the charset of JSON changes nothing: its encoding is in its bytes")
    func jsonCharset() async throws {
        let text = Endpoint<String>.get("x")
        for name in ["utf-8", "iso-8859-1", "utf-16"] {
            #expect(try await run(text, "application/json; charset=\(name)", Array("\"é\"".utf8)) == "é")
        }
    }

    @Test("JSON that calls itself text is refused, and the error names the setting")
    func mislabeled() async throws {
        let error = await #expect(throws: ServiceError.self) {
            try await run(Endpoint<Int>.get("x"), "text/plain", Array("7".utf8))
        }
        #expect(error?.description.contains("acceptedContentTypes") == true)
        #expect(error?.description.contains("text/plain") == true)
    }

    private struct Film: Codable, Sendable, Equatable {
        var releaseDate: Date
    }

    @Test(
        "dates by ISO 8601 are read with and without fractions, and below keys as the server writes them",
        arguments: [
            ("2026-11-22T10:30:00Z", 1_795_343_400.0), ("2026-11-22T10:30:00.250Z", 1_795_343_400.25),
            ("2026-11-22T12:30:00+02:00", 1_795_343_400.0),
        ])
    func dates(text: String, seconds: Double) async throws {
        let body = Array(#"{"data_list": {"first_film": {"release_date": "\#(text)"}}}"#.utf8)
        let endpoint = Endpoint<Film>.get("x").unwrapping("data_list", "first_film")
        let film = try await run(endpoint, "application/json", body) { $0.decoder = .json(keys: .snakeCase) }
        #expect(abs(film.releaseDate.timeIntervalSince1970 - seconds) < 0.001)
    }

    @Test("a date that is none says where", arguments: ["yesterday", "", "2026-13-45T10:30:00Z"])
    func noDate(text: String) async throws {
        let body = Array(#"{"release_date": "\#(text)"}"#.utf8)
        let error = await #expect(throws: ServiceError.self) {
            try await run(Endpoint<Film>.get("x"), "application/json", body) { $0.decoder = .json(keys: .snakeCase) }
        }
        guard case .decodingFailed(let failure) = error else { throw try #require(error) }
        #expect(failure.path == "releaseDate" && failure.found.contains("ISO 8601"))
    }

    @Test("equal values have equal bodies")
    func sorted() throws {
        let encoder: JSONEncoder = .json()
        let value = Dictionary(uniqueKeysWithValues: "hgfedcba".map { ("\($0)", 1) })
        let body = Data(#"{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1}"#.utf8)
        #expect(try encoder.encode(value) == body)
    }

    @Test("numbers of seconds and milliseconds are dates too, and an encoder writes what a decoder reads")
    func numbers() async throws {
        let film = Film(releaseDate: Date(timeIntervalSince1970: 1_795_343_400))
        for dates in [JSONDates.iso8601, .secondsSince1970, .millisecondsSince1970] {
            let encoder: JSONEncoder = .json(keys: .snakeCase, dates: dates)
            let data = try encoder.encode(film)
            #expect(String(decoding: data, as: UTF8.self).contains("release_date"))
            let decoder: FastJSONDecoder = .json(keys: .snakeCase, dates: dates)
            #expect(try decoder.decode(Film.self, from: data) == film)
        }
    }
}
