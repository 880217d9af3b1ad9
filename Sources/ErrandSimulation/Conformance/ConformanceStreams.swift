import Errand
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension TransportConformance {
    /// C45 to C48: bodies in pieces.
    static let streams: [Case] = [
        Case("C45", "the head of an answer is there before its body, and a chunk before the next") { scene in
            let head = LoopbackReply.head(200, ["Content-Length": "9"])
            scene.server.on(
                .get, "/x", LoopbackReply([.write(head), .pause(.milliseconds(100)), .write(honest), .silence]))
            let response = try await scene.open("/x")
            try scene.expect("the status", response.status, is: 200)
            let part = try await scene.within(ConformanceScene.timeLimit, "the part that has come") {
                var part = Data()
                for try await chunk in response.body.chunks {
                    part += chunk
                    if part.count >= honest.count { break }
                }
                return part
            }
            try scene.expect("the part that has come", part, is: honest)
        },
        Case("C45", "a streamed body is what was sent, and the connection goes on") { scene in
            let pieces = (0..<50).map { number in Data(repeating: UInt8(number), count: number * 1000 + 1) }
            scene.server.on(.get, "/x", LoopbackReply.chunks(pieces).always)
            for _ in 0..<3 {
                let body = try await scene.within(ConformanceScene.timeLimit, "the body") {
                    try await scene.open("/x").body.collect(upTo: .max)
                }
                try scene.expect("the body", body == pieces.reduce(Data(), +), seen: "another of \(body.count) bytes")
            }
            try scene.expect("connections", scene.server.connections, is: 1)
        },
        Case("C45", "a streamed body that breaks off throws where it does") { scene in
            scene.server.on(.get, "/x", LoopbackReply.status(200, body: Data(count: 100_000)).cut(.withinBody))
            let (count, error) = try await scene.within(ConformanceScene.timeLimit, "the break") {
                let response = try await scene.open("/x")
                var count = 0
                do {
                    for try await chunk in response.body.chunks { count += chunk.count }
                } catch {
                    return (count, error as (any Error)?)
                }
                return (count, nil)
            }
            guard case .transport(let failure) = error as? ServiceError, failure.kind == .truncated else {
                throw ConformanceScene.surprise(
                    ".transport(truncated) after some bytes", error ?? "a whole body of \(count)")
            }
        },
        Case("C46", "a body that is not read is not taken off the network without bound") { scene in
            scene.server.on(.get, "/x", .endless())
            let response = try await scene.open("/x")
            var before = -1
            // The transfer counts as stopped when nothing moves for half a second.
            for _ in 0..<100 where scene.server.bytesSent != before {
                before = scene.server.bytesSent
                try expectBounded(scene)
                try await SystemTime.system.sleep(for: .milliseconds(500))
            }
            let wanted = scene.server.bytesSent + 1 << 20
            let read = try await scene.within(ConformanceScene.timeLimit, "it goes on when it is read") {
                var read = 0
                for try await chunk in response.body.chunks {
                    read += chunk.count
                    if read > wanted { break }
                }
                return read
            }
            try scene.expect("more than was there before", read > wanted, seen: read)
        },
        Case("C47", "a request body goes out chunk by chunk, as it comes") { scene in
            let (seen, see) = AsyncStream.makeStream(of: Void.self)
            scene.server.onHead(.put, "/x") { _ in
                see.finish()
                return nil
            }
            scene.server.on(.put, "/x", .status(204).always)
            for length in [nil, honest.count] as [Int?] {
                // The second half is available only when the server has seen the request.
                let body = HTTPBody.stream(
                    length: length, pieces([honest.prefix(3), honest.dropFirst(3)], after: seen))
                _ = try await scene.send(scene.request(.put, body: body))
                guard let request = scene.server.received.last else {
                    throw ConformanceScene.surprise("a request", "none")
                }
                try scene.expect("the body", request.body, is: honest)
                try scene.expect("its length", request.headers["Content-Length"], is: length.map { "\($0)" })
            }
        },
        Case("C47", "a request body that fails ends the request, and the server never has it whole") { scene in
            scene.server.on(.put, "/x", .status(204))
            let (chunks, continuation) = HTTPBody.Chunks.makeStream()
            continuation.yield(honest)
            continuation.finish(throwing: CancellationError())
            let request = try scene.request(.put, body: .stream(chunks))
            do {
                let answer = try await scene.send(request)
                throw ConformanceScene.surprise("an error", answer)
            } catch {
                if error is Surprise { throw error }
            }
            try await scene.expectNoConnection()
            try scene.expect("requests", scene.server.received.count, is: 0)
        },
        Case("C48", "letting go of a streamed answer closes its connection") { scene in
            scene.server.on(.get, "/x", .endless().always)
            _ = try await scene.open("/x")
            try await scene.expectNoConnection()
            try await scene.within(ConformanceScene.timeLimit, "one chunk") {
                for try await _ in try await scene.open("/x").body.chunks { break }
            }
            try await scene.expectNoConnection()
        },
        Case("C48", "canceling the task that reads a streamed answer closes its connection") { scene in
            scene.server.on(.get, "/x", LoopbackReply.endless().cut(.after(1000), by: .silence))
            let reading = Task {
                let response = try await scene.open("/x")
                return try await response.body.collect(upTo: .max)
            }
            try await scene.received(atLeast: 1)
            try await SystemTime.system.sleep(for: .milliseconds(50))
            reading.cancel()
            let outcome = await reading.result
            try scene.expect("an error", outcome.failure != nil, seen: outcome)
            try await scene.expectNoConnection()
        },
    ]

    /// Returns a stream of two pieces, of which the second waits for a signal.
    private static func pieces(_ pieces: [Data], after signal: AsyncStream<Void>) -> HTTPBody.Chunks {
        let (chunks, continuation) = HTTPBody.Chunks.makeStream()
        // The task ends with the signal, or with the stream.
        let task = Task {
            continuation.yield(pieces[0])
            for await _ in signal {}
            continuation.yield(pieces[1])
            continuation.finish()
        }
        continuation.onTermination = { _ in task.cancel() }
        return chunks
    }
}

extension ConformanceScene {
    /// Requests a path, and returns the response as soon as its head has arrived.
    fileprivate func open(_ target: String) async throws -> HTTPResponse {
        let context = TransportContext(delivery: .stream, bodyLimit: .max, timeout: Self.timeLimit)
        return try await within(Self.timeLimit, "the head of the answer") {
            try await transport.send(request(.get, target), context: context)
        }
    }
}
