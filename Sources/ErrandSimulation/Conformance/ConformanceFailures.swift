import Errand
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension TransportConformance {
    /// C30 to C33: failures have the right kind, and only safe ones are retried.
    static let failures: [Case] = [
        Case("C30", "a port without a listener refuses, and nothing was sent") { scene in
            let closed = try LoopbackServer(isListening: false)
            defer { closed.close() }
            let request = HTTPRequest(method: .get, url: try HTTPURL("\(closed.baseURL)/x"))
            let outcome = try await scene.outcome(of: request)
            guard case .failure(.transport(let failure)) = outcome, failure.kind == .refused else {
                throw ConformanceScene.surprise(".transport(refused)", outcome)
            }
            try scene.expect("may have reached the server", failure.mayHaveReachedServer, is: false)
        },
        Case("C31", "a server that reads the request and stays silent is a timeout of the attempt") { scene in
            scene.server.on(.get, "/x", .silence.always)
            let time = SteppedTime()
            let error = try await silenceError(scene, time)
            try expectTimeout(scene, error, .attempt)
            try scene.expect("may have reached the server", error.mayHaveReachedServer, is: true)
            try await scene.expectNoConnection()
        },
        Case("C31", "a server that accepts and reads nothing is a timeout of the attempt") { scene in
            scene.server.onConnection { _ in .silence }
            // Nothing shows when the request has left: far longer than that takes.
            let (error, duration) = try await scene.failure("a timeout") { () async throws(ServiceError) in
                try await scene.client().run(Endpoint<Int>.get("x").timeout(.seconds(3)))
            }
            try expectTimeout(scene, error, .attempt)
            try scene.expect("may have reached the server", error.mayHaveReachedServer, is: true)
            try scene.expect("soon after 3 s", duration < ConformanceScene.promptly, seen: duration)
            try await scene.expectNoConnection()
        },
        broken(.beforeHead, by: .close, .reset),
        broken(.beforeHead, by: .reset, .reset),
        broken(.withinHead, by: .close, .reset, .truncated),
        broken(.withinHead, by: .reset, .reset, .truncated),
        broken(.afterHead, by: .close, .truncated),
        broken(.afterHead, by: .reset, .truncated, .reset),
        Case("C32", "a GET that broke off is tried again, a POST is not") { scene in
            scene.server.on(.get, "/x", .close, .json("1").cut(.withinHead), .json("1"))
            scene.server.on(.post, "/x", .close, .json("1"))
            let client = scene.client { $0.retry = .standard }
            let reply = try await client.reply(to: Endpoint<Int>.get("x"))
            try scene.expect("attempts", reply.attempts, is: 3)
            let (error, _) = try await scene.failure("a broken connection") { () async throws(ServiceError) in
                try await client.run(Endpoint<Int>.post("x", body: .json(1)))
            }
            try scene.expect("an error that may have reached the server", error.mayHaveReachedServer, seen: error)
            try scene.expect("POSTs at the server", scene.server.received.count { $0.method == .post }, is: 1)
        },
        truncated("is closed before its Content-Length", LoopbackReply.json("[1, 2]").cut(.withinBody)),
        truncated("is reset half-way", LoopbackReply.json("[1, 2]").cut(.withinBody, by: .reset)),
        truncated("breaks off within a chunk", LoopbackReply.chunks([Data("[1, 2]".utf8)]).cut(.after(55))),
        truncated(
            "has no last chunk",
            .raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\n[1, 2]\r\n")),
    ]

    /// Returns the error of a call whose timeout passes when the server has received its request.
    private static func silenceError(_ scene: ConformanceScene, _ time: SteppedTime) async throws -> ServiceError {
        try await scene.within(ConformanceScene.promptly, "a timeout") {
            try await withThrowingTaskGroup(of: ServiceError?.self) { group in
                group.addTask {
                    try await scene.failure("a timeout") { () async throws(ServiceError) in
                        let client = scene.client { $0.time = time }
                        return try await client.run(Endpoint<Int>.get("x").timeout(.seconds(10)))
                    }.error
                }
                group.addTask {
                    await scene.server.received(atLeast: 1)
                    await time.advance(by: .seconds(10))
                    return nil
                }
                defer { group.cancelAll() }
                for try await case let error? in group { return error }
                throw CancellationError()
            }
        }
    }

    private static func broken(
        _ place: LoopbackReply.Cut, by end: LoopbackReply.Step, _ kinds: TransportFailure.Kind...
    ) -> Case {
        let names = kinds.map(\.rawValue).joined(separator: " or ")
        return Case("C32", "\(end) \(place) is \(names), and the server may have been reached") { scene in
            scene.server.on(.get, "/x", LoopbackReply.json("[1, 2]").cut(place, by: end))
            let outcome = try await scene.outcome(of: scene.request())
            guard case .failure(.transport(let failure)) = outcome, kinds.contains(failure.kind) else {
                throw ConformanceScene.surprise(".transport(\(names))", outcome)
            }
            try scene.expect("may have reached the server", failure.mayHaveReachedServer, is: true)
        }
    }

    private static func truncated(_ what: String, _ reply: LoopbackReply) -> Case {
        Case("C33", "a body that \(what) is truncated, and never decoded") { scene in
            scene.server.on(.get, "/x", reply)
            try await scene.expectFailure("a body that \(what)", .truncated)
        }
    }
}
