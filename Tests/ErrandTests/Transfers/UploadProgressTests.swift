@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("onProgress: how much of a body has been sent")
struct UploadProgressTests {
    private let network = scripted()
    private let clock = TestClock()
    private let reported = Noted<[TransferProgress]>([])

    private func client() -> APIClient { testClient(network, clock) }

    private func note(_ progress: TransferProgress) { reported.update { $0.append(progress) } }

    /// A body of ten bytes, of which one comes every 30 ms.
    private func slow(length: Int? = 10) -> RequestBody {
        .stream(length: length, contentType: "text/plain") { [clock] in
            let sent = Noted(0)
            return HTTPBody.Chunks {
                guard sent.value < 10 else { return nil }
                try await clock.sleep(for: .milliseconds(30))
                sent.update { $0 += 1 }
                return Data("a".utf8)
            }
        }
    }

    private func run(_ body: RequestBody) async throws {
        try await clock.run { try await client().run(.put("x", body: body), onProgress: note) }
    }

    @Test("D9 progress is reported at the start, at most ten times a second, and at the end")
    func pace() async throws {
        network.on(.put, "/x", .status(204))
        try await run(slow())
        #expect(reported.value.map(\.bytes) == [0, 4, 8, 10])
        #expect(reported.value.allSatisfy { $0.total == 10 && $0.attempt == 1 })
        #expect(reported.value.map(\.fraction) == [0, 0.4, 0.8, 1])
    }

    @Test("D9 without a known length there is no fraction, and the end is reported too")
    func unknownLength() async throws {
        network.on(.put, "/x", .status(204))
        try await run(slow(length: nil))
        #expect(reported.value.map(\.bytes) == [0, 4, 8, 10])
        #expect(reported.value.allSatisfy { $0.total == nil && $0.fraction == nil })
    }

    @Test("D9 each attempt begins anew and says so: after a failure, a replay and a redirect")
    func attempts() async throws {
        network.on(.put, "/x", .status(503), .status(307, headers: ["Location": "/y"]))
        network.on(.put, "/y", .status(204))
        try await run(slow())
        #expect(reported.value.map(\.attempt) == reported.value.map(\.attempt).sorted())
        for attempt in 1...3 {
            let bytes = reported.value.filter { $0.attempt == attempt }.map(\.bytes)
            #expect(bytes == bytes.sorted() && bytes.last == 10, "attempt \(attempt): \(bytes)")
        }
    }

    @Test("bytes in memory have progress too, and a call without a body has none")
    func inMemory() async throws {
        network.on(.put, "/x", .status(204))
        network.on(.get, "/x", .status(204))
        try await run(.data(Data(count: 1_000_000), contentType: "a/b"))
        #expect(reported.value.map(\.bytes) == [0, 1_000_000])
        #expect(network.sent.first?.body == Data(count: 1_000_000))
        try await clock.run { try await client().run(.get("x"), onProgress: note) }
        #expect(reported.value.count == 2)
    }

    @Test("D9 when a body breaks off, the last progress is what the transport had taken")
    func failed() async throws {
        let body = RequestBody.stream(length: 10, contentType: "text/plain") {
            HTTPBody.Chunks {
                $0.yield(Data("abc".utf8))
                $0.finish(throwing: CancellationError())
            }
        }
        await #expect(throws: ServiceError.self) { try await run(body) }
        #expect(reported.value.map(\.bytes) == [0, 3])
    }

    @Test("reply(to:) and routes report progress as well")
    func others() async throws {
        network.on(.post, "/form", .json("1").times(2))
        struct Route: EndpointConvertible {
            var path: EndpointPath { "form" }
            var method: HTTPMethod { .post }
            var body: RequestBody? { .form(["a": "b"]) }
        }
        try await clock.run {
            let client = client()
            _ = try await client.reply(to: Endpoint<Int>(Route()), onProgress: note)
            let _: Int = try await client.run(Route(), onProgress: note)
        }
        #expect(reported.value.map(\.bytes) == [0, 3, 0, 3])
    }

    @Test("D9 what an earlier attempt reports late does not count", .timeLimit(.minutes(10)))
    func lateReport() async {
        let progress = UploadProgress(time: clock, note)
        let first = progress.begin(of: 10)
        first(4)
        let second = progress.begin(of: 10)
        first(6)
        await clock.advance(by: .seconds(1))
        second(3)
        first(7)
        progress.finish()
        #expect(reported.value.map(\.attempt) == reported.value.map(\.attempt).sorted())
        #expect(reported.value.last == TransferProgress(bytes: 3, total: 10, attempt: 2))
    }

    @Test(
        "D9 progress is reported by one thread at a time: a smaller number never comes last", .timeLimit(.minutes(10)))
    func inOrder() async {
        let (entered, goOn) = (AsyncStream.makeStream(of: Void.self), DispatchSemaphore(value: 0))
        let overlaps = Noted((now: 0, most: 0))
        let progress = UploadProgress(time: clock) { [reported] progress in
            overlaps.update { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
            reported.update { $0.append(progress) }
            if progress.bytes == 0 {
                entered.continuation.yield()
                // The caller is still busy with the first number when another thread reports more.
                goOn.wait()
            }
            overlaps.update { $0.now -= 1 }
        }
        let count = Noted<(@Sendable (Int) -> Void)?>(nil)
        let over = AsyncStream.makeStream(of: Void.self)
        Thread.detachNewThread {
            count.value = progress.begin(of: 10)
            over.continuation.yield()
        }
        for await _ in entered.stream { break }
        let second = progress.begin(of: 10)
        await clock.advance(by: .seconds(1))
        second(4)
        second(6)
        progress.finish()
        goOn.signal()
        for await _ in over.stream { break }
        #expect(overlaps.value.most == 1)
        #expect(reported.value.first == TransferProgress(bytes: 0, total: 10, attempt: 1))
        #expect(reported.value.last == TransferProgress(bytes: 10, total: 10, attempt: 2))
        #expect(reported.value.count == 2)
    }
}
