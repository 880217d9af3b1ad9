#if os(Linux)
import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("Multipart forms, read by other readers", .timeLimit(.minutes(10)))
struct MultipartReaderTests {
    private let scratch: Scratch

    init() throws {
        scratch = try Scratch()
    }

    private static let installed = MultipartReader.allCases.filter(\.isInstalled)

    /// Sends a form over a connection, and returns what the reader finds in it.
    private func read(
        by reader: MultipartReader, _ fill: (inout MultipartForm) -> Void
    ) async throws -> [ReadPart] {
        let server = try LoopbackServer()
        defer { server.close() }
        server.onAny(.status(204))
        try await APIClient(server.baseURL).run(.post("x", body: .multipart(fill)))
        let request = try #require(server.received.first)
        return try await reader.parts(of: request.body, as: try #require(request.headers["Content-Type"]))
    }

    @Test(
        "D12 another reader finds the names, types and contents that were given",
        .enabled(if: !installed.isEmpty, "Python is not installed"), arguments: installed)
    func all(reader: MultipartReader) async throws {
        var random = SeededRandom(12)
        let bytes = Data((0..<70_000).map { _ in UInt8.random(in: 0...255, using: &random) })
        try bytes.write(to: URL(fileURLWithPath: scratch.path("sün set;1.bin")))
        let parts = try await read(by: reader) { form in
            form.add("title", "Füße 😀")
            form.add("empty", "")
            form.add("näme of;it=a", "--x\r\n--")
            form.add("data", data: Data([0, 255, 13, 10]), filename: "d.bin")
            form.add("file", file: URL(fileURLWithPath: scratch.path("sün set;1.bin")))
            form.add("none", data: Data(), filename: "e.txt")
        }
        let unknown = "application/octet-stream"
        let expected = [
            ReadPart("title", "Füße 😀"), ReadPart("empty", ""), ReadPart("näme of;it=a", "--x\r\n--"),
            ReadPart("data", filename: "d.bin", type: unknown, Data([0, 255, 13, 10])),
            ReadPart("file", filename: "sün set;1.bin", type: unknown, bytes),
            ReadPart("none", filename: "e.txt", type: "text/plain", ""),
        ]
        #expect(parts == expected)
    }

    @Test(
        "D12 quotation marks and line breaks cannot end a name, or begin a header",
        .enabled(if: !installed.isEmpty, "Python is not installed"), arguments: installed)
    func hostile(reader: MultipartReader) async throws {
        let name = "a\"; filename=\"evil\r\nX-Evil: 1\r\n\r\nx"
        let parts = try await read(by: reader) { form in
            form.add(name, "1")
            form.add("b", data: Data("2".utf8), filename: name)
        }
        // Werkzeug reads the escape of a quotation mark; the others leave all escapes to the application.
        let mark = reader == .werkzeug ? "\"" : "%22"
        let escaped = "a\(mark); filename=\(mark)evil%0D%0AX-Evil: 1%0D%0A%0D%0Ax"
        #expect(
            parts == [
                ReadPart(escaped, "1"), ReadPart("b", filename: escaped, type: "application/octet-stream", "2"),
            ])
    }
}
#endif
