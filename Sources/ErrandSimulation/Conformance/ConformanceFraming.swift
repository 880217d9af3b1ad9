import Errand
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension TransportConformance {
    /// C34 to C38: the beginning and the end of a response, and bytes that are not a response.
    static let framing: [Case] = [
        surplus("bytes after a body", LoopbackReply.status(200, body: honest).followed(by: forged)),
        surplus("bytes after an answer without a body", LoopbackReply.status(204).followed(by: forged)),
        surplus(
            "bytes that come after the answer was taken",
            LoopbackReply([
                .write(LoopbackReply.head(200, ["Content-Length": "0"])), .pause(.milliseconds(100)), .write(forged),
            ])),
        surplus(
            "two different lengths",
            .raw("HTTP/1.1 200 OK\r\nContent-Length: 6\r\nContent-Length: 8\r\n\r\nhonest\(forgedText)", then: nil)),
        surplus(
            "a length beside chunks",
            .raw(
                "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"
                    + "6\r\nhonest\r\n0\r\n\r\n\(forgedText)",
                then: nil)),
        Case("C34", "an answer of two different lengths is malformed") { scene in
            scene.server.on(
                .get, "/x", .raw("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 6\r\n\r\nhonest"))
            try await scene.expectFailure("two different lengths", .malformed)
        },
        malformed("C35", "a garbage status line", "what is this?\r\n\r\n"),
        malformed("C35", "an answer of HTTP/0.9", "<html>hello</html>"),
        malformed("C35", "a status of 42", "HTTP/1.1 42 Odd\r\nContent-Length: 0\r\n\r\n"),
        malformed("C35", "a status of 2000", "HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n"),
        malformed("C35", "a status of letters", "HTTP/1.1 abc OK\r\nContent-Length: 0\r\n\r\n"),
        malformed("C36", "a chunk size of letters", chunked("xyz\r\nabc\r\n0\r\n\r\n")),
        malformed("C36", "a negative chunk size", chunked("-5\r\nabcde\r\n0\r\n\r\n")),
        malformed("C36", "an empty chunk size", chunked("\r\nabc\r\n0\r\n\r\n")),
        malformed("C36", "a huge chunk size", chunked("FFFFFFFFFFFFFFFFFF\r\nabc"), .tooLarge, .truncated),
        malformed("C36", "a chunk that is larger than its size", chunked("3\r\nabcdef\r\n0\r\n\r\n")),
        malformed("C36", "an unfinished chunk size", chunked("3\r\nabc\r\n5"), .truncated),
        Case("C36", "chunk extensions and trailers do not touch the body") { scene in
            let text = chunked("3;a=b;c=\"d\"\r\nabc\r\n2 ;e\r\nde\r\n0\r\nX-Trailer: 1\r\n\r\n")
            scene.server.on(.get, "/x", .raw(text, then: nil), .status(200, body: honest))
            try scene.expect("the body", try await scene.get().text, is: "abcde")
            try scene.expect("the next body", try await scene.get().text, is: "honest")
        },
        Case("C37", "interim answers before the answer are skipped") { scene in
            scene.server.on(.get, "/x", LoopbackReply.status(200, body: honest).preceded(by: 100, 102, 103).always)
            for _ in 0..<2 {
                let answer = try await scene.get()
                try scene.expect("the status", answer.status, is: 200)
                try scene.expect("the body", answer.text, is: "honest")
                try scene.expect(
                    "no field of an interim answer", answer.headers["X-Interim"] == nil, seen: answer.headers)
            }
        },
        bodiless("204", .get, .raw("HTTP/1.1 204 No Content\r\n\r\n", then: nil)),
        bodiless("304 with a length", .get, .raw("HTTP/1.1 304 OK\r\nContent-Length: 9\r\n\r\n", then: nil)),
        bodiless(
            "reply to HEAD with a length", .head, .raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", then: nil)
        ),
    ]

    /// The response of a correct server.
    static let honest = Data("honest".utf8)
    /// Five megabytes in which no part equals its neighbors.
    static let large = (0..<5000).reduce(into: Data()) {
        $0 += Data(repeating: UInt8(truncatingIfNeeded: $1), count: 1009)
    }
    private static let forgedText = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged"
    private static let forged = Data(forgedText.utf8)

    private static func chunked(_ body: String) -> String {
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(body)"
    }

    /// C34: whatever happens to the first response, its surplus bytes are not part of the next one.
    private static func surplus(_ what: String, _ reply: LoopbackReply) -> Case {
        Case("C34", "\(what) never reach the next answer") { scene in
            let good = LoopbackReply.status(200, body: honest)
            scene.server.on(.get, "/bad", reply.always)
            scene.server.on(.get, "/good", good.always)
            func length(_ reply: LoopbackReply) -> Int { reply.steps.reduce(0) { $0 + ($1.length ?? 0) } }
            // Computed, because the server counts a moment after the client has received the bytes.
            var written = 0
            for _ in 0..<5 {
                let first = try await scene.outcome(of: scene.request(.get, "/bad"))
                if case .success(let answer) = first {
                    try scene.expect("nothing forged in the first body", !answer.text.contains("forged"), seen: answer)
                }
                written += length(reply)
                let expected = written
                try await scene.wait(for: "all is written") { scene.server.bytesSent >= expected }
                for _ in 0..<2 {
                    let answer = try await scene.get("/good")
                    try scene.expect("the next body", answer.text, is: "honest")
                    written += length(good)
                }
            }
        }
    }

    private static func malformed(
        _ number: String, _ what: String, _ text: String, _ others: TransportFailure.Kind...
    ) -> Case {
        Case(number, "\(what) is an error") { scene in
            scene.server.on(.get, "/x", .raw(text))
            let outcome = try await scene.outcome(of: scene.request())
            let kinds = [.malformed] + others
            guard case .failure(.transport(let failure)) = outcome, kinds.contains(failure.kind) else {
                throw ConformanceScene.surprise(".transport(\(kinds.map(\.rawValue)))", outcome)
            }
        }
    }

    /// C37: a response without a body is complete with its head, and the connection serves the next request.
    private static func bodiless(_ what: String, _ method: HTTPMethod, _ reply: LoopbackReply) -> Case {
        Case("C37", "a \(what) has no body, and the connection goes on") { scene in
            scene.server.on(method, "/bare", reply.always)
            scene.server.on(.get, "/x", .status(200, body: honest).always)
            for _ in 0..<3 {
                let answer = try await scene.send(scene.request(method, "/bare"))
                try scene.expect("no body", answer.body.isEmpty, seen: answer)
                try scene.expect("the next body", try await scene.get().text, is: "honest")
            }
            try scene.expect("connections", scene.server.connections, is: 1)
        }
    }
}
