import Errand
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension TransportConformance {
    /// C11, C41 and C43: kept connections, kept connections that die, and many connections.
    static let connections: [Case] = [
        dying("closes when the POST has come", warm: .json("1"), post: .close),
        dying("has closed before the POST", warm: LoopbackReply.json("1").thenClose, post: .json("1")),
        dying("has reset before the POST", warm: LoopbackReply.json("1").thenReset, post: .json("1")),
        Case("C41", "a thousand calls use one connection") { scene in
            scene.server.on(.get, "/x", .json("1").always)
            for _ in 0..<1000 { _ = try await scene.get() }
            try scene.expect("connections", scene.server.connections, is: 1)
        },
        Case("C41", "calls succeed though the server closes idle connections between them") { scene in
            scene.server.on(.get, "/x", .json("1").always)
            // A connection that is closed while a request is on its way is a failure that the client may retry.
            let client = scene.client { $0.retry = .standard }
            for _ in 0..<20 {
                let value = try await client.run(Endpoint<Int>.get("x"))
                try scene.expect("the answer", value, is: 1)
                scene.server.closeConnections()
            }
        },
        Case("C41", "a connection whose answer says close is not used again") { scene in
            // The server keeps the connection open, and would respond.
            scene.server.on(.get, "/x", .json("1", headers: ["Connection": "close"]).always)
            for _ in 0..<5 { _ = try await scene.get() }
            try scene.expect("connections", scene.server.connections, is: 5)
            try scene.expect("requests on each", scene.server.received.map(\.number), is: [1, 1, 1, 1, 1])
        },
        Case("C41", "a body that ends with its connection is whole") { scene in
            scene.server.on(.get, "/x", LoopbackReply.raw("HTTP/1.1 200 OK\r\n\r\nhonest").always)
            for _ in 0..<3 { try scene.expect("the body", try await scene.get().text, is: "honest") }
        },
        Case("C43", "two hundred calls at once are each answered with their own, and a silent one holds up none") {
            scene in
            scene.server.on(.get, "/silent", .silence.always)
            scene.server.onAny { request in .status(200, body: Data(request.target.utf8)) }
            let silent = Task { try await scene.outcome(of: scene.request(.get, "/silent")) }
            try await scene.received(atLeast: 1)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<200 {
                    group.addTask {
                        try scene.expect("the body", try await scene.get("/\(number)").text, is: "/\(number)")
                    }
                }
                try await group.waitForAll()
            }
            silent.cancel()
            let outcome = await silent.result
            if case .success(.success(let answer)) = outcome { throw ConformanceScene.surprise("no answer", answer) }
        },
    ]

    /// C11: at most one copy of a POST without an idempotency key reaches the server.
    private static func dying(_ what: String, warm: LoopbackReply, post: LoopbackReply) -> Case {
        Case("C11", "a POST is sent at most once on a kept connection that the server \(what)") { scene in
            scene.server.on(.get, "/warm", warm.always)
            scene.server.on(.post, "/x", post.always)
            let client = scene.client { $0.retry = .standard }
            for round in 0..<20 {
                _ = try await client.run(Endpoint<Int>.get("warm"))
                let body = RequestBody.data(Data((round % 2 == 0 ? "" : "body").utf8), contentType: "text/plain")
                let endpoint = Endpoint<Int>.post("x", query: ["round": "\(round)"], body: body)
                do throws(ServiceError) {
                    _ = try await client.run(endpoint)
                } catch {
                    guard case .transport = error else {
                        throw ConformanceScene.surprise("a failure of the transport", error)
                    }
                }
                let copies = scene.server.received.count { $0.target == "/x?round=\(round)" }
                try scene.expect("at most one copy", copies <= 1, seen: "\(copies) of number \(round)")
            }
        }
    }
}
