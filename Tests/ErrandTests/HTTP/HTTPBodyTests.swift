import Errand
import Foundation
import Testing

@Suite("HTTPBody: bytes in memory, or a stream of chunks")
struct HTTPBodyTests {
    @Test("bytes within the limit are the body; one byte more is too large")
    func bytes() async throws {
        let body = HTTPBody.bytes(Data("abcde".utf8))
        #expect(try await body.collect(upTo: 5) == Data("abcde".utf8))
        await #expect(throws: tooLarge(4)) { try await body.collect(upTo: 4) }
        #expect(body.length == 5)
        #expect(body.isReplayable)
    }

    @Test("the chunks of a stream are the body, in order, exactly up to the limit")
    func stream() async throws {
        let body = HTTPBody.stream(opening: { chunks(["ab", "", "cd", "e"]) })
        #expect(try await body.collect(upTo: 5) == Data("abcde".utf8))
        await #expect(throws: tooLarge(4)) { try await body.collect(upTo: 4) }
        #expect(body.length == nil)
        #expect(body.bytes == nil)
    }

    @Test("C40: the limit applies while the body arrives: of an endless stream, only one chunk over it is read")
    func endless() async throws {
        let produced = Lock(0)
        let body = HTTPBody.stream(opening: {
            HTTPBody.Chunks {
                // Not quite endless, so that the test fails instead of hanging if the limit does not work.
                produced.withLock { count in
                    count += 1
                    return count < 10_000 ? Data(repeating: 0, count: 100) : nil
                }
            }
        })
        await #expect(throws: tooLarge(1000)) { try await body.collect(upTo: 1000) }
        #expect(produced.withLock { $0 } == 11)
    }

    @Test("C40: a stream with a declared length over the limit is not read at all")
    func announced() async throws {
        let opened = Lock(0)
        let body = HTTPBody.stream(
            length: 11,
            opening: {
                opened.withLock { $0 += 1 }
                return chunks(["a"])
            })
        await #expect(throws: tooLarge(10)) { try await body.collect(upTo: 10) }
        #expect(opened.withLock { $0 } == 0)
    }

    @Test("an error within the stream is the error of the whole body")
    func failing() async throws {
        let body = HTTPBody.stream(opening: {
            HTTPBody.Chunks { continuation in
                continuation.yield(Data("ab".utf8))
                continuation.finish(throwing: ServiceError.transport(TransportFailure(.truncated)))
            }
        })
        await #expect(throws: ServiceError.transport(TransportFailure(.truncated))) {
            try await body.collect(upTo: 100)
        }
    }

    @Test("a stream that is read in a cancelled task is cancelled, not short")
    func cancelled() async throws {
        let body = HTTPBody.stream(opening: { HTTPBody.Chunks { _ in } })
        let reading = Task { try await body.collect(upTo: 100) }
        reading.cancel()
        await #expect(throws: CancellationError.self) { try await reading.value }
    }

    @Test("a stream that exists once cannot be sent again; one that can be opened can")
    func replayable() async throws {
        #expect(!HTTPBody.stream(chunks(["a"])).isReplayable)
        let body = HTTPBody.stream(opening: { chunks(["a", "b"]) })
        #expect(body.isReplayable)
        #expect(try await body.collect(upTo: 9) == body.collect(upTo: 9))
    }

    @Test("bytes are one chunk, and no bytes are none")
    func asChunks() async throws {
        var seen: [Data] = []
        for try await chunk in HTTPBody.bytes(Data("ab".utf8)).chunks { seen.append(chunk) }
        for try await chunk in HTTPBody.empty.chunks { seen.append(chunk) }
        #expect(seen == [Data("ab".utf8)])
    }
}

private func chunks(_ texts: [String]) -> HTTPBody.Chunks {
    HTTPBody.Chunks { continuation in
        for text in texts { continuation.yield(Data(text.utf8)) }
        continuation.finish()
    }
}

private func tooLarge(_ limit: Int) -> ServiceError {
    .transport(TransportFailure(.tooLarge, "the response is larger than the limit of \(limit) bytes"))
}
