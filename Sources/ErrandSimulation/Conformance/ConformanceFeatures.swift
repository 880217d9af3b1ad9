import Errand
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension TransportConformance {
    /// C20, C25: stops that reach a transport without a task of its own.
    static let stops: [Case] = [
        Case("C20", "a wait for a response ends at a deadline, at a timeout and when its task is canceled") { scene in
            scene.server.onAny { _ in .silence }
            let client = scene.client()
            let endpoint = Endpoint<NoContent>.get("x")
            let short = Duration.milliseconds(300)
            for (limited, what) in [(endpoint.deadline(short), "a deadline"), (endpoint.timeout(short), "a timeout")] {
                let (error, _) = try await scene.failure(what) { () async throws(ServiceError) in
                    try await client.run(limited)
                }
                guard case .timedOut = error else { throw Surprise(what, "\(error)") }
            }
            let received = scene.server.received.count
            let call = Task { try await client.run(endpoint) }
            await scene.server.received(atLeast: received + 1)
            call.cancel()
            let error = try await scene.within(ConformanceScene.promptly, "the end of the call") {
                await call.result.failure as? ServiceError
            }
            try scene.expect("the error", error, is: .cancelled)
        },
        Case("C25", "a client that shuts down ends its own calls and streams, and not those of others") { scene in
            scene.server.on(.get, "/silent") { _ in .silence }
            scene.server.on(.get, "/slow", LoopbackReply([.pause(.milliseconds(200))] + LoopbackReply.json("1").steps))
            scene.server.on(.get, "/endless") { _ in .endless() }
            let (one, other) = (scene.client(), scene.client())
            let call = Task { try await one.run(Endpoint<Int>.get("silent")) }
            let stream = try await one.stream(.get("endless"))
            let kept = Task { try await other.run(Endpoint<Int>.get("slow")) }
            await scene.server.received(atLeast: 3)
            try await scene.within(ConformanceScene.promptly, "the end of the shutdown") { await one.shutdown() }
            let ended = try await scene.within(ConformanceScene.promptly, "the end of the call") { await call.result }
            guard case .failure = ended else { throw Surprise("a failure of the client's call", "\(ended)") }
            try scene.expect("the other client's value", try await kept.value, is: 1)
            try await scene.within(ConformanceScene.promptly, "the end of the stream") {
                do { for try await _ in stream.chunks {} } catch {}
            }
        },
    ]

    /// C1: one permit for each send, used at the last moment.
    static let permits: [Case] = [
        Case("C1", "each send uses one permit") { scene in
            scene.server.onAny { _ in .json("1") }
            let limiter = RateLimiter(.requests(4, per: .seconds(3600)))
            let client = scene.client { $0.limiter = limiter }
            for left in [3, 2, 1] {
                let value: Int = try await client.run(.get("x"))
                try scene.expect("the value", value, is: 1)
                try scene.expect("the permits that are left", limiter.snapshot.available, is: left)
            }
            _ = try await client.run(Endpoint<Int>.post("x", body: .json([1])))
            try scene.expect("the permits that are left", limiter.snapshot.available, is: 0)
            let (error, _) = try await scene.failure("a wait that would be too long") { () async throws(ServiceError) in
                try await client.run(Endpoint<Int>.get("x").deadline(.seconds(1)))
            }
            try scene.expect("what was sent", error.mayHaveReachedServer, is: false)
            try scene.expect("sends", scene.server.received.count, is: 4)
        }
    ]

    /// D11: the progress of bodies that are sent.
    static let progress: [Case] = [
        Case("D11", "the progress of an upload never falls, and ends with the length of the body") { scene in
            let content = Data(count: 1_000_000)
            scene.server.on(.put, "/x", .status(204))
            let seen = Lock<[Int]>([])
            let body = RequestBody.data(content, contentType: "application/octet-stream")
            _ = try await scene.client().run(.put("x", body: body)) { progress in
                seen.withLock { $0.append(progress.bytes) }
            }
            let bytes = seen.withLock { $0 }
            try scene.expect("rising", bytes == bytes.sorted(), seen: bytes)
            try scene.expect("the last", bytes.last, is: content.count)
            try scene.expect("what was sent", scene.server.received.first?.body.count, is: content.count)
        }
    ]
}
