import Errand
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension TransportConformance {
    /// C20 to C25: a canceled call ends at every stage, and leaves nothing behind.
    static let cancellation: [Case] = [
        Case("C20", "a call that is canceled before it starts sends nothing") { scene in
            scene.server.on(.get, "/x", .json("1").always)
            let client = scene.client()
            let call = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return try await client.run(Endpoint<Int>.get("x"))
            }
            let outcome = await call.result
            try scene.expect("canceled", (outcome.failure as? ServiceError) == .cancelled, seen: outcome)
            try scene.expect("bytes at the server", scene.server.bytesReceived, is: 0)
        },
        stage("while nothing has come", .silence),
        stage("within the head", LoopbackReply.json("[1, 2]").cut(.withinHead, by: .silence)),
        stage("after the head", LoopbackReply.json("[1, 2]").cut(.afterHead, by: .silence)),
        stage("within the body", LoopbackReply.json("[1, 2]").cut(.withinBody, by: .silence)),
        stage(
            "within a body that keeps coming",
            LoopbackReply([
                .write(LoopbackReply.head(200)), .drip(Data(repeating: 0x20, count: 1 << 20), every: .milliseconds(1)),
            ])),
        Case("C22", "a hundred calls that are canceled at once end, all of them canceled") { scene in
            scene.server.on(.get, "/x", .silence.always)
            // Some may still be in the queue.
            let errors = try await cancelled(scene) { try await scene.received(atLeast: 50) }
            try scene.expect("a hundred times canceled", errors, is: Array(repeating: .cancelled, count: 100))
            try await scene.expectNoConnection()
        },
        Case("C22", "a hundred calls to a port that refuses end when they are canceled") { scene in
            let closed = try LoopbackServer(isListening: false)
            defer { closed.close() }
            let errors = try await cancelled(scene, url: closed.baseURL) {}
            let strange = errors.filter { error in
                if case .transport(let failure) = error { return failure.kind != .refused }
                return error != .cancelled
            }
            try scene.expect(
                "canceled or refused, a hundred times", errors.count == 100 && strange.isEmpty, seen: errors)
        },
        Case("C23", "a timeout of 300 ms ends the attempt then; none is endless") { scene in
            scene.server.on(.get, "/silent", .silence.always)
            scene.server.on(.get, "/x", .json("1").always)
            let client = scene.client()
            let limited = Endpoint<Int>.get("silent").timeout(.milliseconds(300))
            let (error, duration) = try await scene.failure("a timeout") { () async throws(ServiceError) in
                try await client.run(limited)
            }
            try expectTimeout(scene, error, .attempt)
            try scene.expect(
                "after 300 ms, and soon", (.milliseconds(300)..<ConformanceScene.promptly).contains(duration),
                seen: duration)
            try await scene.expectNoConnection()
            let value = try await client.run(Endpoint<Int>.get("x").timeout(.seconds(10_000_000_000)))
            try scene.expect("the answer", value, is: 1)
            let unlimited = try await client.run(Endpoint<Int>.get("x").timeout(nil))
            try scene.expect("the answer without a timeout", unlimited, is: 1)
            let sent = scene.server.received.count
            let zero = try await scene.failure("a timeout") { () async throws(ServiceError) in
                try await client.run(Endpoint<Int>.get("x").timeout(.zero))
            }
            try expectTimeout(scene, zero.error, .attempt)
            try scene.expect("requests at the server", scene.server.received.count, is: sent)
        },
        Case("C23", "a response that keeps moving may take longer than the timeout") { scene in
            let body = LoopbackReply.json("[1]").steps
            let pause = LoopbackReply.Step.pause(.seconds(1))
            let spaces = Array(repeating: [pause, .write(Data(" ".utf8))], count: 8).flatMap(\.self)
            let head = LoopbackReply.head(200, ["Content-Type": "application/json", "Content-Length": "11"])
            scene.server.on(.get, "/x", LoopbackReply([.write(head)] + spaces + [.write(Data("[1]".utf8))]))
            let value = try await scene.client().run(Endpoint<[Int]>.get("x").timeout(.seconds(6)))
            try scene.expect("the value", value, is: [1])
        },
        Case("C23", "a request whose body keeps moving may take longer than the timeout") { scene in
            scene.server.on(.post, "/x", .json("1"))
            let left = Lock(11)
            let body = HTTPBody.stream(
                HTTPBody.Chunks {
                    let isOver = left.withLock { left in
                        left -= 1
                        return left < 0
                    }
                    guard !isOver else { return nil }
                    try await Task.sleep(for: .milliseconds(1500))
                    return Data("piece".utf8)
                })
            // Ten times the pause, because a busy machine makes it longer.
            let context = TransportContext(timeout: .seconds(15))
            let response = try await scene.transport.send(scene.request(.post, body: body), context: context)
            try scene.expect("the status", response.status, is: 200)
            try scene.expect("the body", scene.server.received.last?.body.count, is: 55)
        },
        Case("C24", "an answer that drips ends at the deadline") { scene in
            scene.server.on(.get, "/x", LoopbackReply.json("1").dripping(every: .seconds(2)))
            let endpoint = Endpoint<Int>.get("x").deadline(.milliseconds(700))
            let (error, duration) = try await scene.failure("a timeout") { () async throws(ServiceError) in
                try await scene.client().run(endpoint)
            }
            try expectTimeout(scene, error, .deadline)
            try scene.expect(
                "soon after 700 ms", (.milliseconds(700)..<ConformanceScene.promptly).contains(duration), seen: duration
            )
            try await scene.expectNoConnection()
        },
        Case("C25", "after its shutdown a transport has no connection, and sends fail") { scene in
            scene.server.on(.get, "/x", .json("1").always)
            scene.server.on(.get, "/silent", .silence.always)
            _ = try await scene.get()
            let waiting = Task { try await scene.outcome(of: scene.request(.get, "/silent")) }
            try await scene.received(atLeast: 2)
            await scene.transport.shutdown()
            let outcome = try await waiting.value
            try scene.expect("the send that was under way fails", outcome.failure != nil, seen: outcome)
            try await scene.expectNoConnection()
            let later = try await scene.outcome(of: scene.request())
            try scene.expect("a later send fails", later.failure != nil, seen: later)
            try scene.expect("requests at the server", scene.server.received.count, is: 2)
        },
    ]

    /// C21: a call that is canceled at that stage ends at once, closes its connection, and delays no other call.
    private static func stage(_ name: String, _ reply: LoopbackReply) -> Case {
        Case("C21", "a call that is canceled \(name) ends at once and leaves no connection") { scene in
            scene.server.on(.get, "/x", reply, .json("1").always)
            let client = scene.client()
            let call = Task { try await client.run(Endpoint<Int>.get("x")) }
            try await scene.received(atLeast: 1)
            // So that the client has received what was written; if it has not, the call is canceled a stage earlier.
            try await SystemTime.system.sleep(for: .milliseconds(50))
            let start = ContinuousClock.now
            call.cancel()
            let outcome = await call.result
            try scene.expect("canceled", (outcome.failure as? ServiceError) == .cancelled, seen: outcome)
            let duration = start.duration(to: .now)
            try scene.expect("at once", duration < ConformanceScene.promptly, seen: duration)
            try await scene.expectNoConnection()
            try scene.expect("the next answer", try await client.run(Endpoint<Int>.get("x")), is: 1)
        }
    }

    /// Returns the errors of a hundred calls that are canceled when `happened` returns.
    private static func cancelled(
        _ scene: ConformanceScene, url: String? = nil, when happened: @escaping @Sendable () async throws -> Void
    ) async throws -> [ServiceError] {
        let client = scene.client { if let url { $0.environment = ServerEnvironment(name: "other", baseURL: url) } }
        return try await withThrowingTaskGroup(of: ServiceError?.self) { group in
            for _ in 0..<100 {
                group.addTask {
                    do throws(ServiceError) {
                        _ = try await client.run(Endpoint<Int>.get("x"))
                        return nil
                    } catch {
                        return error
                    }
                }
            }
            try await happened()
            group.cancelAll()
            return try await group.reduce(into: []) { errors, error in if let error { errors.append(error) } }
        }
    }

    static func expectTimeout(_ scene: ConformanceScene, _ error: ServiceError, _ bound: Timeout.Bound) throws {
        guard case .timedOut(let timeout) = error, timeout.bound == bound else {
            throw ConformanceScene.surprise(".timedOut(\(bound))", error)
        }
    }
}

extension Result {
    var failure: Failure? {
        if case .failure(let error) = self { error } else { nil }
    }
}
