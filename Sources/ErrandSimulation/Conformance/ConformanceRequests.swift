import Errand
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension TransportConformance {
    /// C42, C60 and C61: requests are sent as they were made, byte for byte.
    static let requests: [Case] = [
        Case("C42", "a request goes out as it was made, and nothing is added that changes its meaning") { scene in
            scene.server.on(.put, "/x", .status(201, headers: ["X-Same": "1", "x-same": "2"]))
            let headers: HTTPHeaders = ["X-One": "1", "X-Many": "a", "X-Many": "b", "X-Text": "caf\u{E9}"]
            let answer = try await scene.send(scene.request(.put, "/x?a=1&b", headers: headers, body: .bytes(honest)))
            try scene.expect("the status", answer.status, is: 201)
            try scene.expect("fields of one name", answer.headers.values("X-Same"), is: ["1", "2"])
            guard let request = scene.server.received.first else {
                throw ConformanceScene.surprise("a request", "none")
            }
            try scene.expect("the target", request.target, is: "/x?a=1&b")
            try scene.expect("the body", request.body, is: honest)
            try scene.expect("the host", request.headers["Host"], is: "127.0.0.1:\(scene.server.port)")
            for name in ["X-One", "X-Many", "X-Text"] {
                try scene.expect(name, request.headers.values(name), is: headers.values(name))
            }
            for name in ["Cookie", "Authorization", "Content-Type", "Expect", "Referer"] {
                try scene.expect("no \(name)", request.headers[name] == nil, seen: request.headers[name] as Any)
            }
        },
        Case("C42", "every method goes out by its name, with a body and without") { scene in
            scene.server.onAny(.status(204).always)
            let methods: [HTTPMethod] = [.get, .head, .post, .put, .patch, .delete, .options, "REPORT"]
            for method in methods { _ = try await scene.send(scene.request(method)) }
            try scene.expect("methods", scene.server.received.map(\.method), is: methods)
            for method in methods where method != .head {
                _ = try await scene.send(scene.request(method, body: .bytes(honest)))
            }
            let bodies = scene.server.received.dropFirst(methods.count).map(\.body)
            try scene.expect("bodies", bodies, is: Array(repeating: honest, count: methods.count - 1))
        },
        Case("C42", "a large body arrives whole") { scene in
            scene.server.on(.put, "/x", .status(204))
            _ = try await scene.send(scene.request(.put, body: .bytes(large)))
            try scene.expect("the body", scene.server.received.first?.body == large, seen: "another")
        },
        Case("C42", "an answer that comes before the body was read is the answer") { scene in
            scene.server.onHead(.put, "/x") { _ in .status(413) }
            let answer = try await scene.send(scene.request(.put, body: .bytes(Data(count: 8 << 20))))
            try scene.expect("the status", answer.status, is: 413)
        },
        Case("C42", "a server that answers and leaves without having read the body is an answer or a reset") { scene in
            scene.server.onHead(.put, "/x") { _ in LoopbackReply.status(413).thenClose }
            switch try await scene.outcome(of: scene.request(.put, body: .bytes(Data(count: 32 << 20)))) {
            case .success(let answer): try scene.expect("the status", answer.status, is: 413)
            case .failure(.transport(let failure)):
                try scene.expect("a reset", [.reset, .truncated].contains(failure.kind), seen: failure)
            case .failure(let error): throw ConformanceScene.surprise("413 or a reset", error)
            }
        },
        expecting("receives 100 Continue", 201, early: nil),
        expecting("is refused", 417) { _ in LoopbackReply.status(417).thenClose },
        expecting("receives no 100 Continue", 201) { _ in
            LoopbackReply([.readBody, .write(LoopbackReply.head(201, ["Content-Length": "0"]))])
        },
        Case("C60", "what could split a request is refused, and nothing is sent") { scene in
            let client = scene.client()
            let bad = ["a\rb", "a\nb", "a\r\nX-Evil: 1", "a\0b"]
            let endpoints =
                bad.flatMap { text in
                    [
                        Endpoint<Data>.get("x", headers: ["X-A": text]), .get("x", headers: [text: "a"]),
                        Endpoint<Data>(HTTPMethod(rawValue: text), "x"),
                    ]
                } + [.get("x", headers: ["": "a"]), .get("x", headers: ["X A": "a"]), Endpoint<Data>("GE T", "x")]
            for endpoint in endpoints {
                let (error, _) = try await scene.failure("a refusal") { () async throws(ServiceError) in
                    try await client.run(endpoint)
                }
                guard case .invalidRequest = error else { throw ConformanceScene.surprise(".invalidRequest", error) }
            }
            try scene.expect("connections", scene.server.connections, is: 0)
        },
        Case("C61", "values in a path and in a query come back as they were") { scene in
            scene.server.onAny(.status(204).always)
            let client = scene.client()
            for text in ["/", "?", "#", "%", "+", "&", "=", ";", " ", "a..b", "é", "😀", "%2F", "a b&c=d+e"] {
                _ = try await client.run(
                    Endpoint<NoContent>.get("a/\(text)/z", query: ["q\(text)": text, "last": "1"]))
                guard let request = scene.server.received.last else {
                    throw ConformanceScene.surprise("a request", "none")
                }
                try scene.expect("the path", request.segments, is: ["a", text, "z"])
                let query = [QueryItems.Item(name: "q\(text)", value: text), QueryItems.Item(name: "last", value: "1")]
                try scene.expect("the query", request.query, is: query)
            }
        },
    ]

    /// C42: a request that asks the server first whether it accepts the body.
    private static func expecting(
        _ what: String, _ status: Int, early: (@Sendable (LoopbackRequest) -> LoopbackReply?)?
    ) -> Case {
        Case("C42", "a request that expects 100 Continue and \(what) ends with its answer") { scene in
            scene.server.on(.put, "/x", .status(201))
            if let early { scene.server.onHead(.put, "/x", answering: early) }
            let request = try scene.request(.put, headers: ["Expect": "100-continue"], body: .bytes(honest))
            try scene.expect("the status", try await scene.send(request).status, is: status)
            try scene.expect("requests at the server", scene.server.received.count, is: 1)
            guard status == 201 else { return }
            try scene.expect("the body", scene.server.received.first?.body, is: honest)
        }
    }
}
