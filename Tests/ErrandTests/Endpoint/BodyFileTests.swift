@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("A file while it is sent", .timeLimit(.minutes(10)))
struct BodyFileTests {
    private let scratch: Scratch

    init() throws {
        scratch = try Scratch()
    }

    @Test(
        "D10 a file that changes between two pieces fails before its last piece",
        arguments: [Change.shrinks, .grows, .isRewritten])
    func changedBetweenPieces(change: Change) async throws {
        let path = scratch.path("a.txt")
        try scratch.write(String(repeating: "0123456789", count: HTTPBody.pieceSize / 10 + 2), to: "a.txt")
        var pieces = try BodyFile(.path(path)).body(time: .system).chunks.makeAsyncIterator()
        let first = try await pieces.next()
        #expect(first?.count == HTTPBody.pieceSize)
        if change == .isRewritten {
            try rewrite(path)
        } else {
            try change.happen(to: path)
        }
        await #expect(throws: ServiceError.self) { try await pieces.next() }
    }

    /// Replaces the last bytes by others, in place.
    private func rewrite(_ path: String) throws {
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try file.seek(toOffset: UInt64(HTTPBody.pieceSize))
        try file.write(contentsOf: Data("x".utf8))
        try file.close()
        // A time that a coarse clock cannot give twice.
        var times = [timeval(tv_sec: 1, tv_usec: 0), timeval(tv_sec: 1, tv_usec: 0)]
        utimes(path, &times)
    }

    @Test("C92 a call whose file hangs ends at its deadline, when it is cancelled, and with the client")
    func hung() async throws {
        try scratch.write("0123456789", to: "a.txt")
        let path = scratch.path("a.txt")
        let network = scripted()
        let client = APIClient("https://api.test") { $0.transport = network }
        let gate = await HeldPlace(path)
        let bodies = [RequestBody.file(path), .multipart { $0.add("f", file: path) }]
        for body in bodies {
            let late = await #expect(throws: ServiceError.self) {
                try await client.run(Endpoint<NoContent>.put("x", body: body).deadline(.milliseconds(50)))
            }
            guard case .timedOut(let timeout) = late else { throw try #require(late) }
            #expect(timeout.bound == .deadline)
        }
        let cancelled = Task { try await client.run(Endpoint<NoContent>.put("x", body: bodies[0])) }
        cancelled.cancel()
        await #expect(throws: ServiceError.cancelled) { try await cancelled.value }
        let running = Task { try await client.run(Endpoint<NoContent>.put("x", body: bodies[0])) }
        for await count in client.activity where count == 1 { break }
        await client.shutdown()
        await #expect(throws: ServiceError.cancelled) { try await running.value }
        #expect(network.sent.isEmpty)
        gate.release()
    }

    @Test("C92 reading a file that hangs ends when its task is cancelled")
    func hungReading() async throws {
        try scratch.write("0123456789", to: "a.txt")
        let path = scratch.path("a.txt")
        let body = try BodyFile(.path(path)).body(time: .system)
        let gate = await HeldPlace(path)
        let reading = Task { for try await _ in body.chunks { Issue.record("the file was read") } }
        reading.cancel()
        _ = await reading.result
        gate.release()
    }
}
