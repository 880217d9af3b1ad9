#if os(Linux)
@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

/// Bodies that are streamed, in both directions, over a real connection.
@Suite("Streams through libcurl", .timeLimit(.minutes(10))) struct CurlStreamTests {
    private let server: LoopbackServer
    private let transport = CurlTransport()

    init() throws {
        server = try LoopbackServer()
    }

    private func request(_ method: HTTPMethod, _ path: String, body: HTTPBody? = nil) throws -> HTTPRequest {
        HTTPRequest(method: method, url: try HTTPURL(server.baseURL + path), body: body)
    }

    private func send(_ request: HTTPRequest, limit: Int = 64 << 20) async throws -> HTTPResponse {
        try await transport.send(request, context: TransportContext(delivery: .stream, bodyLimit: limit))
    }

    private static func head(_ fields: String = "") -> Data { Data("HTTP/1.1 200 OK\r\n\(fields)\r\n".utf8) }

    // MARK: Responses

    @Test("a response is returned with its head, while its body still arrives")
    func headFirst() async throws {
        server.on(.get, "/x") { _ in
            LoopbackReply([.write(Self.head("Content-Length: 4\r\n") + Data("ab".utf8)), .silence])
        }
        let response = try await send(request(.get, "/x"))
        #expect(response.status == 200)
        #expect(response.body.length == 4)
        var chunks = response.body.chunks.makeAsyncIterator()
        #expect(try await chunks.next() == Data("ab".utf8))
    }

    @Test("an interim response does not begin the stream")
    func interim() async throws {
        let hints = Data("HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n".utf8)
        server.on(
            .get, "/x", LoopbackReply([.write(hints), .write(Self.head("Content-Length: 2\r\n") + Data("ab".utf8))]))
        let response = try await send(request(.get, "/x"))
        #expect(response.status == 200 && response.headers["Link"] == nil)
        #expect(try await response.body.collect(upTo: 10) == Data("ab".utf8))
    }

    @Test("the length of a compressed body is not known, because it is unpacked")
    func packedLength() async throws {
        let body = Data(repeating: 7, count: 10_000)
        server.on(.get, "/x", .gzip(body))
        let response = try await send(request(.get, "/x"))
        #expect(response.headers["Content-Length"] != nil && response.body.length == nil)
        #expect(try await response.body.collect(upTo: 20_000) == body)
    }

    @Test("a large body arrives complete, whatever the pace of its reader")
    func whole() async throws {
        let body = Data((0..<5_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        server.on(.get, "/x") { _ in .status(200, body: body) }
        let response = try await send(request(.get, "/x"))
        var received = Data()
        for try await chunk in response.body.chunks {
            received += chunk
            // Slow enough for libcurl to have to wait now and then.
            if received.count % 7 == 0 { await Task.yield() }
        }
        #expect(received == body)
    }

    @Test("the bytes that wait for a missing reader are bounded; reading makes the transfer continue")
    func backPressure() async throws {
        let buffer = CurlBuffer()
        let piece = [UInt8](repeating: 1, count: 16_384)
        var taken = 0
        while taken < 100 << 20, piece.withUnsafeBytes({ buffer.take($0) }) == piece.count { taken += piece.count }
        #expect(taken == 1 << 20)
        let resumes = Noted(0)
        #expect(try await buffer.next(resuming: { resumes.value += 1 })?.count == taken)
        #expect(resumes.value == 1)
        #expect(piece.withUnsafeBytes { buffer.take($0) } == piece.count)
        #expect(try await buffer.next(resuming: { resumes.value += 1 })?.count == piece.count)
        #expect(resumes.value == 1)
    }

    @Test(
        "C39: a decompression bomb stops at the limit even if its reader is slow, and is never taken for complete",
        arguments: [1, 10_000, 100_000, 300_000])
    func slowBomb(excess: Int) async throws {
        let size = 3 << 20
        server.on(.get, "/x", .bomb(size))
        server.on(.get, "/turn", .json("1").always)
        let response = try await send(request(.get, "/x"), limit: size - excess)
        let error = await #expect(throws: ServiceError.self) {
            var chunks = response.body.chunks.makeAsyncIterator()
            repeat {
                // When another response has arrived, libcurl has brought what it had.
                _ = try await transport.send(request(.get, "/turn"), context: TransportContext())
            } while try await chunks.next() != nil
        }
        guard case .transport(let failure) = error else { throw try #require(error) }
        #expect(failure.kind == .tooLarge)
    }

    @Test("the densest gzip arrives complete, though its reader is slow", .enabled(if: Program.gzip.isInstalled))
    func denseGzip() async throws {
        // More than anybody should keep for a missing reader.
        let size = LongRun.isWanted ? 160 << 20 : 32 << 20
        let scratch = try Scratch()
        let file = scratch.path("zeros")
        try Data(count: size).write(to: URL(filePath: file))
        let packed = try await Program.gzip.run(["-c", file])
        #expect(packed.count * 1000 < size)
        server.on(.get, "/x") { _ in .status(200, headers: ["Content-Encoding": "gzip"], body: packed) }
        server.on(.get, "/turn", .json("1").always)
        let response = try await send(request(.get, "/x"), limit: size)
        var chunks = response.body.chunks.makeAsyncIterator()
        var count = 0
        repeat {
            // When another response has arrived, libcurl has brought what it had.
            _ = try await transport.send(request(.get, "/turn"), context: TransportContext())
            guard let chunk = try await chunks.next() else { break }
            count += chunk.count
        } while count < size
        #expect(count == size)
        #expect(try await chunks.next() == nil)
    }

    @Test("of two readers of one stream, each gets what the other does not")
    func twoReaders() async throws {
        server.on(.get, "/x") { _ in
            let head = LoopbackReply.head(200, ["Content-Length": "4"])
            return LoopbackReply([.write(head), .pause(.milliseconds(100)), .write(Data("abcd".utf8))])
        }
        let body = try await send(request(.get, "/x")).body
        let count = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<2 {
                group.addTask { try await body.chunks.reduce(into: 0) { $0 += $1.count } }
            }
            return try await group.reduce(0, +)
        }
        #expect(count == 4)
    }

    @Test("a stream that is dropped closes its connection; a cancelled reader gets no end")
    func dropped() async throws {
        server.on(.get, "/x") { _ in LoopbackReply([.write(Self.head() + Data("a".utf8)), .silence]) }
        var response: HTTPResponse? = try await send(request(.get, "/x"))
        #expect(server.openConnections == 1)
        response = nil
        await server.connectionsClosed()
        response = try await send(request(.get, "/x"))
        let body = try #require(response?.body)
        let (reading, hasBegun) = (Latch(), Noted(false))
        let reader = Task {
            for try await _ in body.chunks {
                hasBegun.value = true
                reading.open()
            }
            try Task.checkCancellation()
        }
        try await reading.opened(in: CallScope())
        reader.cancel()
        let outcome = await reader.result
        #expect(hasBegun.value)
        #expect(throws: (any Error).self) { try outcome.get() }
    }

    @Test("C21: cancelled before the head has arrived, it leaves no connection")
    func cancelledBeforeHead() async throws {
        server.on(.get, "/x") { _ in .silence }
        let request = try request(.get, "/x")
        let task = Task { try await send(request) }
        await server.received(atLeast: 1)
        task.cancel()
        await #expect(throws: ServiceError.cancelled) { try await task.value }
        await server.connectionsClosed()
    }

    @Test("a shutdown ends the streams that are being read")
    func shutDown() async throws {
        server.on(.get, "/x") { _ in LoopbackReply([.write(Self.head() + Data("a".utf8)), .silence]) }
        let response = try await send(request(.get, "/x"))
        var chunks = response.body.chunks.makeAsyncIterator()
        #expect(try await chunks.next() == Data("a".utf8))
        await transport.shutdown()
        let error = await #expect(throws: ServiceError.self) { try await chunks.next() }
        guard case .transport(let failure) = error else { throw try #require(error) }
        #expect(failure.kind == .unavailable)
    }

    // MARK: Requests

    private func chunks(_ chunks: [Data], then error: (any Error)? = nil) -> HTTPBody.Chunks {
        HTTPBody.Chunks { continuation in
            for chunk in chunks { continuation.yield(chunk) }
            continuation.finish(throwing: error)
        }
    }

    @Test("a stream of known length is sent with it, one of unknown length in chunks", arguments: [true, false])
    func upload(isLengthKnown: Bool) async throws {
        server.on(.post, "/x") { .status(200, body: Data("\($0.body.count)".utf8)) }
        let parts = (0..<300).map { Data(repeating: UInt8($0 % 256), count: 10_007) }
        let length = isLengthKnown ? 300 * 10_007 : nil
        let body = HTTPBody.stream(length: length, chunks(parts))
        let response = try await transport.send(request(.post, "/x", body: body), context: TransportContext())
        #expect(response.body.bytes == Data("3002100".utf8))
        let received = try #require(server.received.first)
        #expect(received.body == parts.reduce(Data(), +))
        #expect(received.headers["Content-Length"] == length.map { "\($0)" })
        #expect(received.headers["Transfer-Encoding"] == (isLengthKnown ? nil : "chunked"))
    }
}
#endif
