@testable import Errand
import ErrandTestSupport
import ErrandTesting
import FoundationEssentials
import Testing

@Suite("Lines of a streamed response") struct LinesTests {
    private let network = scripted()

    private func response(_ pieces: [String]) async throws -> StreamedResponse {
        let chunks = HTTPBody.Chunks { continuation in
            for piece in pieces { continuation.yield(Data(piece.utf8)) }
            continuation.finish()
        }
        network.on(.get, "/log", .response(HTTPResponse(status: 200, body: .stream(chunks))))
        return try await testClient(network).stream(.get("log"))
    }

    private static let table: [(String, [String])] = [
        ("", []), ("a", ["a"]), ("a\n", ["a"]), ("a\nb", ["a", "b"]), ("a\r\nb\r\n", ["a", "b"]),
        ("\n\na\n\n", ["", "", "a", ""]), ("a\rb\n", ["a\rb"]), ("\u{FEFF}a\n\u{FEFF}b", ["a", "\u{FEFF}b"]),
        ("ä€😀\n😀", ["ä€😀", "😀"]), ("\u{FEFF}", [""]),
    ]

    @Test("they end with LF or CRLF, wherever the body is split", arguments: table)
    func lines(text: String, expected: [String]) async throws {
        let scalars = text.unicodeScalars.map(String.init)
        for pieces in [[text], scalars] {
            var lines: [String] = []
            for try await line in try await response(pieces).lines { lines.append(line) }
            #expect(lines == expected)
        }
    }

    @Test("a line that is too long is an error, which ends the sequence")
    func limit() async throws {
        var lines = try await response(["short\n", String(repeating: "x", count: 11)]).lines(maximumLength: 10)
            .makeAsyncIterator()
        #expect(try await lines.next() == "short")
        let error = await #expect(throws: ServiceError.self) { try await lines.next() }
        guard case .transport(let failure) = error else { throw try #require(error) }
        #expect(failure.kind == .tooLarge && failure.message.contains("10 bytes"))
        #expect(try await lines.next() == nil)
    }

    private struct Row: Decodable, Sendable, Equatable {
        var id: Int
    }

    @Test("lines of JSON are values; empty lines are skipped")
    func rows() async throws {
        let response = try await response(["{\"id\":1}\n\n", "{\"i", "d\":2}\r\n \n{\"id\":3}"])
        var rows: [Row] = []
        for try await row in response.decoded(Row.self) { rows.append(row) }
        #expect(rows == [Row(id: 1), Row(id: 2), Row(id: 3)])
    }

    @Test("a line that does not match is an error that names it, and ends the sequence")
    func wrongRow() async throws {
        var rows = try await response(["{\"id\":1}\n{\"id\":\"x\"}\n{\"id\":3}\n"]).decoded(Row.self)
            .makeAsyncIterator()
        #expect(try await rows.next() == Row(id: 1))
        let error = await #expect(throws: ServiceError.self) { try await rows.next() }
        guard case .decodingFailed(let failure) = error else { throw try #require(error) }
        #expect(failure.path == "id" && failure.description.hasSuffix("in line 2"), "\(failure)")
        #expect(try await rows.next() == nil)
    }
}
