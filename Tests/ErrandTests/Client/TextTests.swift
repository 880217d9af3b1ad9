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
        await #expect(throws: ServiceError.self) { try await run(text, "text/plain", [0xFF, 0xFE]) }
        await #expect(throws: ServiceError.self) { try await run(text, "application/json", Array("a".utf8)) }
    }

    @Test("JSON that calls itself text is refused, and the error names the setting")
    func mislabelled() async throws {
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
