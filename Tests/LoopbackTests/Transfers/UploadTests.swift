#if os(Linux)
import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("Uploads over libcurl", .timeLimit(.minutes(10)))
struct UploadTests {
    private let server: LoopbackServer
    private let transport = CurlTransport()
    private let scratch: Scratch

    init() throws {
        server = try LoopbackServer()
        scratch = try Scratch()
    }

    private func client(_ configure: (inout Configuration) -> Void = { _ in }) -> APIClient {
        APIClient(server.baseURL) {
            $0.transport = transport
            $0.rateLimit = .unlimited
            // Real time: a busy machine must not fail the test.
            $0.timeout = .seconds(60)
            configure(&$0)
        }
    }

    private func file(_ size: Int) throws -> String {
        let path = scratch.path("large.bin")
        try Data(count: size).write(to: URL(fileURLWithPath: path))
        return path
    }

    @Test("D13 a refusal ends a body whose next bytes never come", arguments: [401, 413])
    func earlyRefusal(status: Int) async throws {
        server.onHead(.put, "/x") { _ in .json(#"{"message": "not now"}"#, status: status) }
        let (signal, end) = AsyncStream.makeStream(of: Void.self)
        defer { end.finish() }
        let body = RequestBody.stream(length: 1_000_000, contentType: "a/b") {
            let isFirst = Noted(true)
            return HTTPBody.Chunks {
                if isFirst.value {
                    isFirst.value = false
                    return Data(count: 1000)
                }
                for await _ in signal {}
                throw CancellationError()
            }
        }
        let error = try await #require(throws: ServiceError.self) {
            try await client { $0.retry = .never }.run(.put("x", body: body))
        }
        #expect(error.status == status && error.localizedDescription == "not now")
    }

    /// A body of 32 MB that can be sent again, or once.
    enum Large: CaseIterable {
        case file, form, stream
    }

    @Test("D11 a connection that breaks in the middle of a body is a failure like any other", arguments: Large.allCases)
    func broken(large: Large) async throws {
        let path = try file(32 << 20)
        let body: RequestBody =
            switch large {
            case .file: .file(path)
            case .form: .multipart { $0.add("file", file: path) }
            case .stream: .stream(contentType: "a/b", HTTPBody.Chunks { Data(count: 1 << 16) })
            }
        let requests = Noted(0)
        server.onHead(.put, "/x") { _ in
            requests.update { $0 += 1 }
            // The third attempt of a body that can be sent again is read and answered.
            return requests.value < 3 ? LoopbackReply([.pause(.milliseconds(20)), .reset]) : nil
        }
        server.on(.put, "/x", .status(204))
        let client = client { $0.retry = RetryPolicy(attempts: 3, base: .zero) }
        do throws(ServiceError) {
            let reply = try await client.reply(to: Endpoint<NoContent>.put("x", body: body))
            #expect(reply.attempts == 3 && large != .stream)
            #expect(requests.value == 3)
        } catch {
            guard case .transport(let failure) = error else { throw error }
            #expect(failure.kind == .reset && failure.mayHaveReachedServer && large == .stream)
            #expect(requests.value == 1)
        }
    }

    @Test("D14 with Expect, nothing of a file is sent to a server that refuses", arguments: [401, 413, 417])
    func expectation(status: Int) async throws {
        server.onHead(.put, "/x") { _ in LoopbackReply.status(status).thenClose }
        let endpoint = Endpoint<NoContent>.put("x", body: .file(try file(8 << 20))).header("Expect", "100-continue")
        var (sent, duration) = (0, Duration.zero)
        repeat {
            let (before, start) = (server.bytesReceived, ContinuousClock.now)
            let error = try await #require(throws: ServiceError.self) {
                try await client { $0.retry = .never }.run(endpoint)
            }
            duration = start.duration(to: .now)
            #expect(error.status == status)
            await server.connectionsClosed()
            sent = server.bytesReceived - before
            // After a second without an answer libcurl sends the file: on a busy machine the answer may come then.
        } while sent >= 2000 && duration >= .milliseconds(900)
        #expect(sent < 2000)
    }

    @Test("D14 a server that says nothing receives the file after a second")
    func silentServer() async throws {
        server.onHead(.put, "/x") { _ in
            LoopbackReply([.readBody, .write(LoopbackReply.head(204))])
        }
        let path = try file(1 << 20)
        let start = ContinuousClock.now
        try await client().run(.put("x", body: .file(path)).header("Expect", "100-continue"))
        // No upper bound: a busy machine may take any time.
        #expect(start.duration(to: .now) >= .milliseconds(900))
        #expect(server.received.first?.body.count == 1 << 20)
    }

    @Test("a form with large files arrives whole, and its progress reaches the end")
    func form() async throws {
        server.on(.post, "/x", .status(204))
        let path = try file(10 << 20)
        let reported = Noted<[TransferProgress]>([])
        let body = RequestBody.multipart { form in
            form.add("title", "a")
            form.add("one", file: path)
            form.add("two", file: path)
        }
        try await client().run(.post("x", body: body)) { progress in reported.update { $0.append(progress) } }
        let request = try #require(server.received.first)
        #expect(request.headers["Content-Length"] == "\(request.body.count)")
        #expect(request.body.count > 20 << 20)
        let progress = reported.value
        #expect(progress.last == TransferProgress(bytes: request.body.count, total: request.body.count))
        #expect(progress.map(\.bytes) == progress.map(\.bytes).sorted())
    }

    @Test("the body of a response is passed on as the body of a request, with its error if it breaks off")
    func passedOn() async throws {
        let source = try LoopbackServer()
        defer { source.close() }
        let content = Data((0..<2_000_000).map { UInt8(truncatingIfNeeded: $0 &* 5) })
        source.on(.get, "/whole", .status(200, body: content))
        source.on(.get, "/half", LoopbackReply.status(200, body: content).cut(.withinBody))
        server.on(.put, "/x", .status(204))
        let origin = APIClient(source.baseURL) {
            $0.transport = transport
            $0.rateLimit = .unlimited
        }
        let whole = try await origin.stream(.get("whole"))
        try await client().run(
            .put("x", body: .stream(length: content.count, contentType: "a/b", whole.chunks)))
        #expect(server.received.first?.body == content)
        let half = try await origin.stream(.get("half"))
        let error = try await #require(throws: ServiceError.self) {
            try await client().run(.put("x", body: .stream(contentType: "a/b", half.chunks)))
        }
        guard case .transport(let failure) = error else { throw error }
        #expect(failure.kind == .truncated)
        #expect(server.received.count == 1)
    }

    @Test("a cancelled upload ends at once, and its connection is closed")
    func cancelled() async throws {
        // The head shows that the upload is under way; there is no response.
        let (seen, see) = AsyncStream.makeStream(of: Void.self)
        server.onHead(.put, "/x") { _ in
            see.finish()
            return .silence
        }
        let path = try file(32 << 20)
        let call = Task { try await client().run(.put("x", body: .file(path))) }
        for await _ in seen {}
        call.cancel()
        await #expect(throws: ServiceError.cancelled) { try await call.value }
        await server.connectionsClosed()
        #expect(server.received.count == 1)
    }
}
#endif
