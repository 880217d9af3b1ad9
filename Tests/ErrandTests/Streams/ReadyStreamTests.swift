@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("Streams whose bytes are always ready") struct ReadyStreamTests {
    private struct Row: Decodable, Sendable {
        var id: Int
    }

    /// Reads a stream on its actor, which another task can enter only while the reader yields.
    private actor Reader {
        private var hasOtherRun = false

        private func noteOther() { hasOtherRun = true }

        /// Starts another task after the first element. Returns whether it ran before the last one.
        func isInterrupted<Elements: AsyncSequence & Sendable>(_ elements: Elements, count: Int) async throws -> Bool {
            var (read, wasInterrupted) = (0, false)
            for try await _ in elements {
                read += 1
                if read == 1 { Task { self.noteOther() } }
                wasInterrupted = hasOtherRun
            }
            #expect(read == count)
            return wasInterrupted
        }
    }

    /// Returns a client whose server sends these pieces, all of which are there at once.
    private func client(_ pieces: [String], type: String = "text/plain") -> APIClient {
        let network = scripted()
        let chunks = HTTPBody.Chunks { continuation in
            for piece in pieces { continuation.yield(Data(piece.utf8)) }
            continuation.finish()
        }
        let answer = HTTPResponse(status: 200, headers: ["Content-Type": type], body: .stream(chunks))
        network.onAny { .response(answer) }
        return testClient(network)
    }

    private static func times(_ count: Int, _ text: String) -> String { String(repeating: text, count: count) }

    @Test("C98: a reader of lines lets other tasks run")
    func lines() async throws {
        let stream = try await client([Self.times(50_000, "a\n")]).stream(.get("a"))
        #expect(try await Reader().isInterrupted(stream.lines, count: 50_000))
    }

    @Test("C98: a reader of rows lets other tasks run, also while it skips blank lines")
    func rows() async throws {
        let stream = try await client(["{\"id\":1}\n\(Self.times(50_000, " \n")){\"id\":2}\n"]).stream(.get("a"))
        #expect(try await Reader().isInterrupted(stream.decoded(Row.self), count: 2))
    }

    @Test("C98: a reader of events lets other tasks run, also while it skips comments and empty lines")
    func events() async throws {
        for filler in [":\n", "\n", "data:\n\n", "retry: 5\n"] {
            let text = "data: a\n\n\(Self.times(50_000, filler))\ndata: b\n\n"
            let events = client([text], type: "text/event-stream").events(.get("a")).reconnecting(false)
            let count = filler.hasPrefix("data") ? 50_002 : 2
            #expect(try await Reader().isInterrupted(events, count: count), "\(filler.debugDescription)")
        }
    }

    @Test("C98: a reader of chunks lets other tasks run")
    func chunks() async throws {
        let stream = try await client(Array(repeating: "a", count: 50_000)).stream(.get("a"))
        #expect(try await Reader().isInterrupted(stream.chunks, count: 50_000))
    }

    @Test("C98: a share ends after a millisecond, or after as many empty lines as are read in one")
    func share() {
        var share = ReadingShare()
        var (now, looks) = (Instant.zero, 0)
        // Each line takes ten microseconds, so that the share ends after a hundred of them.
        for line in 1...200 {
            now = now.advanced(by: .microseconds(10))
            guard share.needsLook(afterLineOf: 0) else { continue }
            looks += 1
            if share.isUsedUp(at: now) {
                #expect((100...192).contains(line))
                break
            }
        }
        #expect(looks == 3)
        share = ReadingShare()
        var lines = 0
        repeat { lines += 1 } while !(share.needsLook(afterLineOf: 0) && share.isUsedUp(at: .zero))
        #expect((1 << 14..<1 << 15).contains(lines))
        // Long lines count by their bytes.
        share = ReadingShare()
        lines = 0
        repeat { lines += 1 } while !(share.needsLook(afterLineOf: 64 << 10) && share.isUsedUp(at: .zero))
        #expect(lines <= 16)
    }
}
