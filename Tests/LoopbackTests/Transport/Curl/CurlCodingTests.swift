#if os(Linux)
@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

/// Coded bodies over a real connection.
@Suite("Coded bodies through libcurl", .timeLimit(.minutes(10))) struct CurlCodingTests {
    private let server: LoopbackServer
    private let transport = CurlTransport()

    init() throws {
        server = try LoopbackServer()
    }

    private func request(_ path: String = "/x", _ method: HTTPMethod = .get) throws -> HTTPRequest {
        HTTPRequest(method: method, url: try HTTPURL(server.baseURL + path))
    }

    private func send(
        _ request: HTTPRequest, _ delivery: TransportContext.Delivery = .whole, limit: Int = 64 << 20
    ) async throws -> HTTPResponse {
        try await transport.send(request, context: TransportContext(delivery: delivery, bodyLimit: limit))
    }

    private func body(
        _ delivery: TransportContext.Delivery = .whole, _ path: String = "/x", limit: Int = 64 << 20
    ) async throws -> Data {
        let response = try await send(request(path), delivery, limit: limit)
        if delivery == .whole { return try #require(response.body.bytes) }
        return try await response.body.collect(upTo: .max)
    }

    /// Returns the failure of a body that must not arrive.
    private func failure(
        _ delivery: TransportContext.Delivery = .whole, _ path: String = "/x", limit: Int = 64 << 20
    ) async throws -> TransportFailure {
        let error = await #expect(throws: ServiceError.self) {
            let body = try await body(delivery, path, limit: limit)
            Issue.record("\(body.count) bytes")
        }
        guard case .transport(let failure) = error else { throw try #require(error) }
        return failure
    }

    // MARK: What arrives

    @Test("C39: it is decoded, whole and as a stream, by its length and in chunks", arguments: CodedSample.all)
    func sound(_ sample: CodedSample) async throws {
        server.onAny { sample.reply(inChunks: $0.path == "/chunks") }
        for path in ["/length", "/chunks"] {
            for delivery in [TransportContext.Delivery.whole, .stream] {
                #expect(try await body(delivery, path) == CodedSample.text)
            }
        }
        #expect(server.connections == 1 || !InstalledLibrary.announcesRequests)
    }

    @Test("the head is left as it came; the timings count the coded bytes, to their end")
    func head() async throws {
        let body = Data(repeating: 7, count: 200_000)
        server.onAny { _ in .gzip(body) }
        let response = try await send(request())
        #expect(response.headers["Content-Encoding"] == "gzip" && response.headers["Content-Length"] != nil)
        let timings = try #require(response.timings)
        #expect(timings.bytesReceived ?? 0 > 200_000 && timings.total >= timings.firstByte)
        #expect(response.body.bytes == body)
    }

    @Test("members and frames that follow one another are joined", arguments: CodedSample.all)
    func twice(_ sample: CodedSample) async throws {
        server.onAny { _ in sample.reply(sample.packed + sample.packed) }
        for delivery in [TransportContext.Delivery.whole, .stream] {
            if sample.repeats {
                #expect(try await body(delivery) == CodedSample.text + CodedSample.text)
            } else {
                #expect(try await failure(delivery).kind == .malformed)
            }
        }
    }

    @Test("a response without a body needs no coded one", arguments: ["gzip", "br", "rot13"])
    func empty(coding: String) async throws {
        let headers: HTTPHeaders = ["Content-Encoding": coding]
        server.on(.head, "/x", .status(200, headers: headers, body: Data(count: 9)).always)
        server.onAny { request in
            switch request.path {
            case "/204": .status(204, headers: headers)
            case "/304": .status(304, headers: headers)
            case "/chunks": .chunks([], headers: headers)
            default: .status(200, headers: headers)
            }
        }
        for delivery in [TransportContext.Delivery.whole, .stream] {
            #expect(try await send(request("/x", .head), delivery).body.collect(upTo: 10) == Data())
            for path in ["/x", "/204", "/304", "/chunks"] {
                #expect(try await send(request(path), delivery).body.collect(upTo: 10) == Data())
            }
        }
        #expect(server.connections == 1 || !InstalledLibrary.announcesRequests)
    }

    @Test("a large body arrives complete, whatever the pace of its reader", arguments: [true, false])
    func large(isStream: Bool) async throws {
        // Not compressed, so that far more comes than waits in buffers. In members, because their checksum is computed
        // bit by bit, which takes a sanitizer long.
        let block = Data((0..<65_521).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) })
        guard case .write(let member) = LoopbackReply.gzip(block).steps.last?.kind else {
            Issue.record("no body")
            return
        }
        var (sent, packed) = (Data(), Data())
        for _ in 0..<(LongRun.isWanted ? 100 : 30) {
            sent += block
            packed += member
        }
        let reply = LoopbackReply.status(200, headers: ["Content-Encoding": "gzip"], body: packed)
        server.onAny { _ in reply }
        guard isStream else {
            #expect(try await body() == sent)
            return
        }
        var received = Data()
        for try await chunk in try await send(request(), .stream).body.chunks {
            received += chunk
            if received.count % 7 == 0 { await Task.yield() }
        }
        #expect(received == sent)
    }

    @Test("an identity in between is no coding, and a body that is only that has its length")
    func identity() async throws {
        let gzip = CodedSample(name: "", codings: "identity, gzip, Identity", packed: CodedSample.gzip.packed)
        let plain = LoopbackReply.status(200, headers: ["Content-Encoding": "identity"], body: CodedSample.text)
        server.onAny { $0.path == "/x" ? gzip.reply() : plain }
        #expect(try await body() == CodedSample.text)
        let response = try await send(request("/plain"), .stream)
        #expect(response.body.length == CodedSample.text.count)
        #expect(try await response.body.collect(upTo: .max) == CodedSample.text)
        let tooSmall = TransportContext(bodyLimit: 100)
        let error = await #expect(throws: ServiceError.self) {
            try await transport.send(request("/plain"), context: tooSmall)
        }
        guard case .transport(let failure) = error else { throw try #require(error) }
        #expect(failure.kind == .tooLarge)
    }

    // MARK: What is asked for

    @Test("every coding that can be undone is asked for, for streams too")
    func offer() async throws {
        server.onAny { _ in .json("1") }
        for delivery in [TransportContext.Delivery.whole, .stream] { _ = try await send(request(), delivery) }
        let offers = server.received.map { $0.headers.values("Accept-Encoding") }
        #expect(offers == [["gzip, deflate, br, zstd"], ["gzip, deflate, br, zstd"]])
    }

    @Test("a request's own Accept-Encoding is sent instead, and what comes is decoded all the same")
    func ownOffer() async throws {
        server.onAny { _ in CodedSample.zstd.reply() }
        for own in ["identity", "zstd;q=0.5, *;q=0"] {
            var request = try request()
            request.headers["Accept-Encoding"] = own
            #expect(try await send(request).body.bytes == CodedSample.text)
        }
        #expect(server.received.map { $0.headers.values("Accept-Encoding") } == [["identity"], ["zstd;q=0.5, *;q=0"]])
    }

    // MARK: What does not arrive

    @Test("C33: a body that ends within its coding is truncated, wherever that is", arguments: CodedSample.all)
    func cut(_ sample: CodedSample) async throws {
        server.onAny { request in
            let parts = request.path.split(separator: "/")
            return sample.reply(sample.packed.prefix(Int(parts[1]) ?? 0), inChunks: parts[0] == "chunks")
        }
        for framing in ["length", "chunks"] {
            for count in 1..<sample.packed.count {
                let error = await #expect(throws: ServiceError.self) {
                    try await send(request("/\(framing)/\(count)"))
                }
                guard case .transport(let failure) = error else { throw try #require(error) }
                #expect(failure.kind == .truncated && failure.mayHaveReachedServer, "\(framing), \(count)")
            }
        }
    }

    @Test("C33: three bytes of a coding are no value for an optional", arguments: CodedSample.all)
    func threeBytes(_ sample: CodedSample) async throws {
        let (server, transport) = (server, transport)
        server.onAny { _ in sample.reply(sample.packed.prefix(3)) }
        let client = APIClient(server.baseURL) {
            $0.transport = transport
            $0.retry = .never
        }
        let error = await #expect(throws: ServiceError.self) {
            _ = try await client.run(Endpoint<Int?>.get("x"))
        }
        guard case .transport(let failure) = error else { throw try #require(error) }
        #expect(failure.kind == .truncated)
        #expect(try await self.failure(.stream).kind == .truncated)
    }

    @Test("C33: a coded body without a length, whose connection ends, is truncated", arguments: CodedSample.all)
    func closed(_ sample: CodedSample) async throws {
        let head = Data("HTTP/1.1 200 OK\r\nContent-Encoding: \(sample.codings)\r\n\r\n".utf8)
        server.on(.get, "/x", .raw(head + sample.packed.dropLast()), .raw(head + sample.packed))
        #expect(try await failure().kind == .truncated)
        #expect(try await body() == CodedSample.text)
    }

    @Test("C34: bytes after the end of a coding are malformed, though more are to come", arguments: CodedSample.all)
    func surplus(_ sample: CodedSample) async throws {
        let head = "HTTP/1.1 200 OK\r\nContent-Encoding: \(sample.codings)\r\nTransfer-Encoding: chunked\r\n\r\n"
        let chunk = sample.packed + Data("surplus".utf8) + Data(count: 200_000)
        let size = Data("\(String(chunk.count + 9, radix: 16))\r\n".utf8)
        server.onAny { request in
            guard request.path == "/x" else { return .raw(Data(head.utf8) + size + chunk, then: .silence) }
            return sample.reply(sample.packed + Data("surplus".utf8))
        }
        for delivery in [TransportContext.Delivery.whole, .stream] {
            let failure = try await failure(delivery)
            #expect(failure.kind == .malformed && failure.message.contains("compressed"), "\(failure)")
        }
        #expect(try await failure(.whole, "/endless").kind == .malformed)
        let response = try await send(request("/endless"), .stream)
        await #expect(throws: ServiceError.self) { try await response.body.collect(upTo: .max) }
        // The reader still has the body.
        await server.connectionsClosed()
        #expect(response.status == 200)
    }

    /// Without the other one: deflate has no checksum if it is not wrapped.
    @Test("C39: damaged bytes are malformed", arguments: [CodedSample.gzip, .wrapped, .brotli, .zstd, .five])
    func damaged(_ sample: CodedSample) async throws {
        var packed = sample.packed
        for index in packed.indices.dropFirst(packed.count / 3).prefix(8) { packed[index] ^= 0xFF }
        let damaged = packed
        server.onAny { _ in sample.reply(damaged) }
        for delivery in [TransportContext.Delivery.whole, .stream] {
            #expect(try await failure(delivery).kind == .malformed)
        }
    }

    @Test(
        "an unknown coding, and a sixth one, are malformed",
        arguments: ["rot13", "gzip;q=1", "gzip, rot13", "gzip, gzip, gzip, gzip, gzip, gzip"])
    func unknown(codings: String) async throws {
        let sample = CodedSample(name: "", codings: codings, packed: CodedSample.gzip.packed)
        server.onAny { _ in sample.reply() }
        for delivery in [TransportContext.Delivery.whole, .stream] {
            let failure = try await failure(delivery)
            #expect(failure.kind == .malformed && failure.message.contains("gzip, deflate"), "\(failure)")
        }
    }

    @Test("a list of a thousand codings is read, and a longer one is malformed", arguments: [1000, 1001])
    func longList(count: Int) async throws {
        let codings = "gzip" + String(repeating: ", identity", count: count - 1)
        let sample = CodedSample(name: "", codings: codings, packed: CodedSample.gzip.packed)
        server.onAny { _ in sample.reply() }
        if count == 1000 {
            #expect(try await body() == CodedSample.text)
        } else {
            #expect(try await failure().kind == .malformed)
        }
    }

    @Test(
        "a transfer coding that was not asked for is malformed",
        arguments: ["gzip, chunked", "x, chunked", "chunked,\r\n gzip"])
    func transferCoding(codings: String) async throws {
        let head = Data("HTTP/1.1 200 OK\r\nTransfer-Encoding: \(codings)\r\n\r\n".utf8)
        server.onAny { _ in .raw(head + Data("0\r\n\r\n".utf8)) }
        let failure = try await failure()
        #expect(failure.kind == .malformed && failure.message.contains("transfer coding"), "\(failure)")
    }

    // MARK: Bombs

    @Test(
        "C39: a bomb stops at the limit, before it has come to its end",
        arguments: CodedSample.zeros(64 << 20) + [.brotliBomb])
    func bomb(_ sample: CodedSample) async throws {
        // The body never ends, so only the limit can end the call.
        let padding = Data(repeating: 0, count: 300_000)
        server.onAny { _ in
            let head = LoopbackReply.head(200, ["Content-Encoding": sample.codings, "Content-Length": "1000000000"])
            return LoopbackReply([.write(head + sample.packed + padding), .silence])
        }
        for delivery in [TransportContext.Delivery.whole, .stream] {
            #expect(try await failure(delivery, limit: 1 << 20).kind == .tooLarge)
        }
        await server.connectionsClosed()
    }

    /// Far more than waits in buffers.
    private static let dense = LongRun.isWanted ? 100 << 20 : 20 << 20

    @Test("C46: a dense body waits for its reader, and arrives complete", arguments: CodedSample.zeros(Self.dense))
    func slowReader(_ sample: CodedSample) async throws {
        server.onAny { $0.path == "/x" ? sample.reply() : .json("1") }
        let response = try await send(request(), .stream, limit: Self.dense)
        var chunks = response.body.chunks.makeAsyncIterator()
        var count = 0
        while let chunk = try await chunks.next() {
            #expect(chunk.count <= CodedBody.pieceSize)
            // When another response has arrived, libcurl has had time to bring more.
            if count % (10 << 20) == 0 { _ = try await send(request("/turn")) }
            count += chunk.count
        }
        #expect(count == Self.dense)
    }

    @Test("a coding that needs more memory than a server may ask for is refused")
    func window() async throws {
        server.onAny { _ in CodedSample.wide.reply() }
        let failure = try await failure()
        #expect(failure.kind == .tooLarge && failure.message.contains("memory"), "\(failure)")
    }

    @Test("C39: codings that make nothing end at the limit too")
    func nothing() async throws {
        let head = LoopbackReply.head(200, ["Content-Encoding": "gzip", "Transfer-Encoding": "chunked"])
        // Empty members of gzip.
        let member = Data([0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0])
        let many = Data(repeatElement(member, count: 1000).joined())
        let chunk = Data("4E20\r\n".utf8) + many + Data("\r\n".utf8)
        server.onAny { request in
            guard request.path == "/endless" else { return CodedSample.nothing.reply() }
            return LoopbackReply([.write(head), .repeatForever(chunk)])
        }
        for path in ["/x", "/endless"] {
            #expect(try await failure(.whole, path, limit: 1000).kind == .tooLarge)
        }
        await server.connectionsClosed()
    }

    // MARK: Stops

    @Test("C21: a call whose coded body stalls ends at once when it is cancelled", arguments: [10, 400_000])
    func cancelled(count: Int) async throws {
        server.onAny { _ in
            LoopbackReply.gzip(Data(count: 450_000)).cut(.inBody(count), by: .silence)
        }
        let (phases, continuation) = AsyncStream.makeStream(of: Phase.self)
        let request = try request()
        // On a busy machine the body may have begun long before the test sees that.
        let context = TransportContext(timeout: .seconds(500)) { continuation.yield($0) }
        let task = Task { try await transport.send(request, context: context) }
        for await phase in phases where phase == .receiving { break }
        let start = ContinuousClock.now
        task.cancel()
        await #expect(throws: ServiceError.cancelled) { try await task.value }
        // Without the cancellation it ends at its timeout.
        #expect(start.duration(to: .now) < .seconds(60))
        await server.connectionsClosed()
        #expect(transport.isIdle)
    }

    @Test("C31: a coded body that stalls ends at its timeout", arguments: [10, 400_000])
    func stalled(count: Int) async throws {
        server.onAny { _ in
            LoopbackReply.gzip(Data(count: 450_000)).cut(.inBody(count), by: .silence)
        }
        let request = try request()
        let error = await #expect(throws: ServiceError.self) {
            try await transport.send(request, context: TransportContext(timeout: .milliseconds(300)))
        }
        guard case .timedOut = error else { throw try #require(error) }
        await server.connectionsClosed()
    }

    @Test("a shutdown ends a call whose coded body has begun to come")
    func shutDown() async throws {
        server.onAny { _ in
            LoopbackReply.gzip(Data(count: 450_000)).cut(.inBody(400_000), by: .silence)
        }
        let (phases, continuation) = AsyncStream.makeStream(of: Phase.self)
        let request = try request()
        // On a busy machine the body may have begun long before the test sees that.
        let context = TransportContext(timeout: .seconds(500)) { continuation.yield($0) }
        let task = Task { try await transport.send(request, context: context) }
        for await phase in phases where phase == .receiving { break }
        await transport.shutdown()
        let error = await #expect(throws: ServiceError.self) { try await task.value }
        guard case .transport(let failure) = error else { throw try #require(error) }
        #expect(failure.kind == .unavailable)
    }
}
#endif
