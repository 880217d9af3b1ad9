#if os(Linux)
import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

/// Heads that no proper server sends, and that libcurl accepts.
@Suite("Heads that libcurl accepts although they are invalid", .timeLimit(.minutes(10))) struct CurlBadHeadTests {
    private let server: LoopbackServer
    private let transport = CurlTransport()

    init() throws {
        server = try LoopbackServer()
    }

    private func send(
        _ path: String = "/x", delivery: TransportContext.Delivery = .whole
    ) async throws -> HTTPResponse {
        let request = HTTPRequest(method: .get, url: try HTTPURL(server.baseURL + path))
        return try await transport.send(request, context: TransportContext(delivery: delivery))
    }

    /// Returns the failure of a request that must fail.
    private func failure(_ reply: LoopbackReply) async throws -> TransportFailure {
        server.on(.get, "/x", reply)
        do {
            let response = try await send()
            Issue.record("answered with \(response.status), \(response.body.length ?? -1) bytes")
            throw CancellationError()
        } catch ServiceError.transport(let failure) {
            return failure
        }
    }

    @Test("a head that begins with a folded line does not crash the process, whatever came before it")
    func foldedFirst() async throws {
        server.on(.get, "/good", .json("[1]").always)
        server.on(
            .get, "/bad", .raw("HTTP/1.1 200 OK\r\n X: y\r\nContent-Length: 2\r\n\r\n[]", then: nil).always)
        let urls = ["/good", "/bad", "/good", "/bad", "/good"].map { server.baseURL + $0 }
        // In a process of its own, because this used to crash it.
        let (lines, status) = try await Child("TransportProbe", ["series"] + urls).end()
        #expect(status == 0)
        #expect(lines == ["200", "malformed", "200", "malformed", "200"])
    }

    @Test("C38: a head of more than 256 KiB is malformed, whatever its lines are")
    func largeHead() async throws {
        // This is below the limit that newer versions of libcurl have by themselves.
        let line = "X: \(String(repeating: "y", count: 59_996))"
        func head(_ lines: Int) -> LoopbackReply {
            let lines = Array(repeating: line, count: lines).joined(separator: "\r\n")
            return .raw("HTTP/1.1 200 OK\r\n\(lines)\r\nContent-Length: 2\r\n\r\n[]")
        }
        #expect(try await failure(head(5)).kind == .malformed)
        server.on(.get, "/x", head(4))
        #expect(try await send().status == 200)
    }

    @Test("C38: a head of exactly 256 KiB is accepted, one of a byte more is not")
    func largestHead() async throws {
        let line = "X: \(String(repeating: "y", count: 49_995))\r\n"
        let start = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\(String(repeating: line, count: 5))Y: "
        func head(_ bytes: Int) -> LoopbackReply {
            let end = "\r\n\r\n"
            return .raw(start + String(repeating: "y", count: bytes - start.utf8.count - end.utf8.count) + end + "[]")
        }
        server.on(.get, "/x", head(256 << 10))
        #expect(try await send().status == 200)
        #expect(try await failure(head((256 << 10) + 1)).kind == .malformed)
    }

    @Test("the letter case of a transfer coding does not matter", arguments: ["chunked", "Chunked", "CHUNKED"])
    func letterCaseOfCoding(_ coding: String) async throws {
        server.on(.get, "/x", .raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: \(coding)\r\n\r\n2\r\n[]\r\n0\r\n\r\n"))
        #expect(try await send().body.length == 2)
    }

    @Test("C37: what ends after an interim response is truncated, also on a kept connection", arguments: [100, 103])
    func endAfterInterim(status: Int) async throws {
        server.on(.get, "/good", .json("1").always)
        for isKept in [false, true] {
            if isKept { _ = try await send("/good") }
            let failure = try await failure(.raw("HTTP/1.1 \(status) Wait\r\nX: y\r\n\r\n", then: .close))
            #expect(failure.kind == .truncated && failure.mayHaveReachedServer)
            #expect(failure.message == "the connection ended before the response")
        }
    }

    @Test("trailers count against the limit of the head")
    func endlessTrailer() async throws {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n[]\r\n0\r\n"
        let line = Data("X-Trailer: \(String(repeating: "y", count: 1000))\r\n".utf8)
        let failure = try await failure(LoopbackReply([.write(Data(head.utf8)), .repeatForever(line)]))
        #expect(failure.kind == .malformed)
        #expect(failure.message.contains("trailer"), "\(failure.message)")
    }

    @Test("C34: a trailer that looks like the head of another response is not treated as one")
    func headInTheTrailer() async throws {
        let head = "HTTP/1.1 200 OK\r\nX-Mine: 1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n[]\r\n0\r\n"
        server.on(.get, "/x", .raw(head + "HTTP/1.1: 500 Forged\r\nX-Forged: 1\r\n\r\n"))
        let response = try await send()
        #expect(response.status == 200 && response.headers["X-Mine"] == "1")
        #expect(response.headers["X-Forged"] == nil)
    }

    @Test(
        "a length that is not a single number is malformed",
        arguments: [
            "1, 2", "2, 2", "1x", "+2", "-1", "0x2", "", "2 2", "2\r\n 2", "2;", "1.0", "２", "9223372036854775808",
            "99999999999999999999",
        ])
    func length(_ length: String) async throws {
        let failure = try await failure(.raw("HTTP/1.1 200 OK\r\nContent-Length: \(length)\r\n\r\n[]"))
        #expect(failure.kind == .malformed)
        #expect(failure.message.contains("not one number"), "\(failure.message)")
    }

    @Test("spaces around a length are ignored", arguments: ["2 ", "\t2", " 2\t "])
    func lengthWithSpaces(_ length: String) async throws {
        server.on(.get, "/x", .raw("HTTP/1.1 200 OK\r\nContent-Length: \(length)\r\n\r\n[]", then: nil))
        #expect(try await send().body.length == 2)
    }

    @Test("a status beyond 599 is a failure of the server", arguments: [600, 799, 999])
    func status(_ status: Int) async throws {
        server.on(.get, "/x", .status(status))
        let client = APIClient(server.baseURL) { $0.transport = transport }
        let error = await #expect(throws: ServiceError.self) { try await client.run(Endpoint<Int>.get("x")) }
        guard case .serverFailure(let rejection) = error else { throw try #require(error) }
        #expect(rejection.status == status)
    }

    @Test("an upgrade that the client did not ask for ends the call at once")
    func unaskedUpgrade() async throws {
        let failure = try await failure(
            .raw("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n", then: .silence))
        #expect(failure.kind == .malformed)
        #expect(failure.message.contains("protocol"), "\(failure.message)")
    }

    struct Oddity: Sendable, CustomTestStringConvertible {
        let name: String
        let reply: LoopbackReply
        let kind: TransportFailure.Kind
        let words: String
        var testDescription: String { name }
    }

    private static let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    /// `1`, compressed.
    private static let gzip = Data(base64Encoded: "H4sIAGbtAGsC/zMEALfv3IMBAAAA") ?? Data()

    private static func packed(_ body: Data) -> LoopbackReply {
        .status(200, headers: ["Content-Encoding": "gzip"], body: body)
    }

    @Test(
        "each kind of invalid response has its own failure kind and message",
        arguments: [
            Oddity(
                name: "a chunk size with a prefix", reply: .raw(chunked + "0x2\r\n[]\r\n0\r\n\r\n"),
                kind: .malformed, words: "chunk"),
            Oddity(
                name: "a chunk size with a sign", reply: .raw(chunked + "+2\r\n[]\r\n0\r\n\r\n"),
                kind: .malformed, words: "chunk"),
            Oddity(
                name: "a trailer without an end",
                reply: .raw(chunked + "2\r\n[]\r\n0\r\nX: y\rz\r\n\r\n"), kind: .malformed, words: "chunk"),
            Oddity(
                name: "a trailer without a colon", reply: .raw(chunked + "2\r\n[]\r\n0\r\nabc\r\n\r\n"),
                kind: .malformed, words: "chunk"),
            Oddity(
                name: "a line without a colon",
                reply: .raw("HTTP/1.1 200 OK\r\nabc\r\nContent-Length: 2\r\n\r\n[]"), kind: .malformed, words: "head"),
            Oddity(
                name: "a folded first line", reply: .raw("HTTP/1.1 200 OK\r\n X: y\r\nContent-Length: 2\r\n\r\n[]"),
                kind: .malformed, words: "head"),
            Oddity(
                name: "an endless status line",
                reply: LoopbackReply([
                    .write(Data("HTTP/1.1 200 ".utf8)), .repeatForever(Data(repeating: 0x41, count: 65_536)),
                ]), kind: .malformed, words: "head"),
            Oddity(
                name: "bytes after a gzip", reply: packed(gzip + Data("surplus".utf8)), kind: .malformed,
                words: "compressed"),
            Oddity(name: "no gzip", reply: packed(Data("plain text".utf8)), kind: .malformed, words: "compressed"),
        ])
    func kinds(_ oddity: Oddity) async throws {
        let failure = try await failure(oddity.reply)
        #expect(failure.kind == oddity.kind, "\(failure)")
        #expect(failure.message.contains(oddity.words), "\(failure)")
    }

    @Test(
        "a process without free descriptors gets an error that says so; its open connections continue",
        .enabled(if: InstalledLibrary.announcesRequests, InstalledLibrary.announcesNothing))
    func noDescriptors() async throws {
        server.onAny { _ in .json("1") }
        let other = try LoopbackServer()
        other.onAny { _ in .json("1") }
        let (lines, _) = try await Child("TransportProbe", ["exhausted", server.baseURL, other.baseURL]).end()
        #expect(lines.count == 2 && lines[0].hasPrefix("outOfResources ") && lines[0].contains("ulimit"), "\(lines)")
        #expect(lines.last == "200 ")
    }
}
#endif
