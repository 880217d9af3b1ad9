#if os(Linux)
import CCurl
@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

/// How the stream of a request's body is read.
@Suite("Bodies that libcurl sends from a stream", .timeLimit(.minutes(10))) struct CurlUploadTests {
    private let server: LoopbackServer
    private let transport = CurlTransport()

    init() throws {
        server = try LoopbackServer()
    }

    private func chunks(_ chunks: [Data], then error: (any Error)? = nil) -> HTTPBody.Chunks {
        HTTPBody.Chunks { continuation in
            for chunk in chunks { continuation.yield(chunk) }
            continuation.finish(throwing: error)
        }
    }

    private struct NoMore: Error {}

    @Test("a stream that throws, or has another length than promised, fails the call and says why", arguments: 0..<3)
    func badStream(kind: Int) async throws {
        server.onAny { _ in .json("1") }
        let hundred = Data(repeating: 1, count: 100)
        let (body, words) =
            switch kind {
            case 0: (HTTPBody.stream(chunks([hundred], then: NoMore())), "NoMore")
            case 1: (HTTPBody.stream(length: 150, chunks([hundred])), "150 bytes")
            default: (HTTPBody.stream(length: 150, chunks([hundred, hundred])), "150 bytes")
            }
        let failure = try await failure(sending: body)
        #expect(failure.kind == .requestBody)
        #expect(failure.message.contains(words), "\(failure.message)")
        #expect(server.received.isEmpty)
    }

    private func failure(sending body: HTTPBody) async throws -> TransportFailure {
        let request = HTTPRequest(method: .put, url: try HTTPURL(server.baseURL + "/x"), body: body)
        let error = await #expect(throws: ServiceError.self) {
            try await transport.send(request, context: TransportContext(timeout: .seconds(60)))
        }
        guard case .transport(let failure) = error else { throw try #require(error) }
        return failure
    }

    @Test(
        "D17: nothing is sent for a body that promises to be empty until its stream has ended",
        arguments: [true, false])
    func empty(hasBytes: Bool) async throws {
        server.onAny { _ in .json("1") }
        let stream = hasBytes ? chunks([Data(), Data("a".utf8)]) : chunks([], then: NoMore())
        let failure = try await failure(sending: .stream(length: 0, stream))
        #expect(failure.kind == .requestBody && !failure.mayHaveReachedServer)
        #expect(failure.message.contains(hasBytes ? "the 0 bytes" : "NoMore"), "\(failure.message)")
        #expect(server.connections == 0)
    }

    /// A permit that notes when it is used.
    private final class NotingPermit: SendPermit {
        let uses = Noted<[Instant]>([])
        var hasEnd: Bool { false }
        var end: Instant { .distantFuture }

        func use(at instant: Instant) -> Instant? {
            uses.update { $0.append(instant) }
            return instant
        }

        func takeAnother(in scope: CallScope) async throws(ServiceError) -> (wait: Duration, use: Instant) {
            (.zero, .zero)
        }

        func delay(from use: Instant, to instant: Instant) {}
    }

    @Test("C1: the permit of a request that waits for the end of an empty stream counts from the end of that wait")
    func permitOfEmpty() async throws {
        server.onAny { _ in .json("1") }
        let (clock, permit) = (TestClock(), NotingPermit())
        let transmission = CallContext(rules: CallRules(timeout: nil), time: clock).transmission
        let send = Send(timeout: nil, time: clock, reporter: transmission, permit: permit)
        try send.begin()
        let begin = clock.now
        let body = HTTPBody.Chunks {
            await clock.advance(by: .seconds(9))
            return nil
        }
        let request = HTTPRequest(
            method: .put, url: try HTTPURL(server.baseURL + "/x"), body: .stream(length: 0, body))
        let context = TransportContext(
            delivery: .whole, bodyLimit: 1000, send: send, client: TransportContext.Client(transmission))
        #expect(try await transport.send(request, context: context).status == 200)
        #expect(permit.uses.value == [begin.advanced(by: .seconds(9))])
    }

    @Test("D17: the last chunk waits for the end of its stream, however large it is", arguments: [2, 2 << 20])
    func lastChunk(size: Int) async throws {
        server.on(.put, "/x") { .json("\($0.body.count)") }
        let last = Data(repeating: 1, count: size)
        let body = HTTPBody.stream(length: size + 3, chunks([Data("abc".utf8), last, Data()]))
        let request = HTTPRequest(method: .put, url: try HTTPURL(server.baseURL + "/x"), body: body)
        let response = try await transport.send(request, context: TransportContext(timeout: .seconds(60)))
        #expect(response.body.bytes == Data("\(size + 3)".utf8))
        #expect(server.received.first?.body == Data("abc".utf8) + last)
    }

    @Test("D17: what completes the length is held back as soon as more has come, before the stream is known to fail")
    func surplus() async throws {
        let pieces = Noted(0)
        let upload = Noted<CurlUpload?>(nil)
        let filled = Promise<Int, ServiceError>()
        let body = HTTPBody.Chunks {
            pieces.update { $0 += 1 }
            guard pieces.value == 2 else { return Data("abc".utf8) }
            // It is freed when the stream is given up, before that has been noted.
            let memory = UnsafeMutableRawPointer.allocate(byteCount: 100, alignment: 1)
            return Data(
                bytesNoCopy: memory, count: 100,
                deallocator: .custom { memory, _ in
                    memory.deallocate()
                    var room = [UInt8](repeating: 0, count: 100)
                    filled.complete(.success(room.withUnsafeMutableBytes { upload.value?.fill($0) ?? 0 }))
                })
        }
        let reader = CurlUpload(.stream(length: 3, body))
        upload.value = reader
        reader.start(in: TransportContext()) {}
        #expect(try await filled.value() == Int(CCURL_PAUSE))
        upload.value = nil
    }

    @Test("a stream is not read further than the server accepts it")
    func backPressure() async throws {
        let upload = CurlUpload(
            HTTPBody.stream(
                HTTPBody.Chunks { Data(repeating: 7, count: 100_000) }))
        var room = [UInt8](repeating: 0, count: 65_536)
        var received = 0
        upload.start(in: TransportContext()) {}
        // As often as it takes: on a busy machine, the task that reads the stream has not run yet.
        while received < 10_000_000 {
            let count = room.withUnsafeMutableBytes { upload.fill($0) }
            if count > 0 { received += count } else { await Task.yield() }
            #expect(upload.waiting <= 512 << 10 + 100_000)
        }
        upload.cancel()
    }

    @Test("a chunk that was sent is released where its deallocator may use the upload")
    func release() async throws {
        let (stream, feed) = HTTPBody.Chunks.makeStream()
        let upload = CurlUpload(.stream(stream))
        let wasFree = Noted<Bool?>(nil)
        let memory = UnsafeMutableRawPointer.allocate(byteCount: 100, alignment: 1)
        feed.yield(
            Data(
                bytesNoCopy: memory, count: 100,
                deallocator: .custom { memory, _ in
                    let done = DispatchSemaphore(value: 0)
                    // On another thread, because one that waits for its own lock ends the process.
                    Thread.detachNewThread {
                        _ = upload.waiting
                        done.signal()
                    }
                    wasFree.value = done.wait(timeout: .now() + 60) == .success
                    memory.deallocate()
                }))
        feed.yield(Data("end".utf8))
        upload.start(in: TransportContext()) {}
        // When the second chunk is there, only the upload has the first.
        while upload.waiting < 103 { await Task.yield() }
        var room = [UInt8](repeating: 0, count: 100)
        #expect(room.withUnsafeMutableBytes { upload.fill($0) } == 100)
        #expect(wasFree.value == true)
        upload.cancel()
        feed.finish()
    }

    @Test("D11: a body that is sent again is not read beside its former reader, though that ignores its cancellation")
    func oneReader() async throws {
        let (heads, readers, most) = (Noted(0), Noted(0), Noted(0))
        let former = Latch()
        server.onHead(.put, "/x") { _ in
            heads.update { $0 += 1 }
            if heads.value == 1 { return .raw("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n") }
            former.open()
            return nil
        }
        server.on(.put, "/x") { .json("\($0.body.count)") }
        let body = RequestBody.stream(contentType: "text/plain") {
            let pieces = Noted([Data("a".utf8), Data("b".utf8)])
            return HTTPBody.Chunks {
                readers.update { $0 += 1 }
                most.value = max(most.value, readers.value)
                defer { readers.update { $0 -= 1 } }
                if pieces.value.count == 1 { await former.opened() }
                return pieces.value.isEmpty ? nil : pieces.removeFirst()
            }
        }
        let client = APIClient(server.baseURL) {
            $0.transport = transport
            $0.rateLimit = .unlimited
            $0.timeout = .seconds(60)
        }
        #expect(try await client.run(Endpoint<Int>.put("x", body: body)) == 2)
        #expect(heads.value == 2 && most.value == 1)
    }
}
#endif
