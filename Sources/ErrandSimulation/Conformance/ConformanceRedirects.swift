import Errand
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension TransportConformance {
    /// C50 to C53: a transport follows no redirect, and the client that does sends no secrets along.
    static let redirects: [Case] = [
        Case("C50", "a transport hands a redirect over and does not follow it") { scene in
            scene.server.onAny { _ in .redirect(to: "/elsewhere") }
            for method in [HTTPMethod.get, .post] {
                let answer = try await scene.send(scene.request(method))
                try scene.expect("the status", answer.status, is: 302)
                try scene.expect("the location", answer.headers["Location"], is: "/elsewhere")
            }
            try scene.expect("requests", scene.server.received.map(\.target), is: ["/x", "/x"])
        },
        Case("C50", "what may be secret is dropped when the origin changes, and does not come back") { scene in
            let other = try LoopbackServer()
            defer { other.close() }
            let (here, there) = (scene.server.baseURL, other.baseURL)
            scene.server.on(.get, "/x", .redirect(to: "/same"))
            scene.server.on(.get, "/same", .redirect(to: "\(there)/hop"))
            other.on(.get, "/hop", .redirect(307, to: "\(here)/back"))
            scene.server.on(.get, "/back", .json("1"))
            let tokens = TokenStore { $0 }
            await tokens.signIn(Token(accessToken: "secret"))
            let secrets: HTTPHeaders = [
                "Cookie": "a=1", "Proxy-Authorization": "Basic eDp5", "X-Key": "key", "X-Plain": "1",
            ]
            let client = scene.client {
                $0.tokens = tokens
                $0.headers = ["Accept-Language": "de"]
                $0.headers.merge(secrets)
                $0.secretNames = ["X-Key"]
            }
            try scene.expect("the answer", try await client.run(Endpoint<Int>.get("x")), is: 1)
            let names = ["Authorization"] + secrets.map(\.name)
            let hops = scene.server.received.prefix(2) + other.received + scene.server.received.dropFirst(2)
            let seen = hops.map { request in names.filter { request.headers[$0] != nil } }
            try scene.expect("secrets on each hop", seen, is: [names, names, [], []])
            try scene.expect(
                "other fields", hops.allSatisfy { $0.headers["Accept-Language"] == "de" }, seen: hops.map(\.headers))
        },
        Case("C51", "a redirect that leads nowhere is refused") { scene in
            let locations = ["file:///etc/passwd", "ftp://127.0.0.1/x", "", "http://[", "http://user:word@127.0.0.1/"]
            for location in locations {
                scene.server.on(.get, "/x", .redirect(to: location))
                let (error, _) = try await scene.failure("a refusal") { () async throws(ServiceError) in
                    try await scene.client().run(Endpoint<Int>.get("x"))
                }
                guard case .rejected = error, error.status == 302 else {
                    throw ConformanceScene.surprise(".rejected with 302 for \(location)", error)
                }
            }
            try scene.expect("requests", scene.server.received.count, is: locations.count)
        },
        Case("C52", "method and body are kept or changed as the status says") { scene in
            scene.server.onAny(.status(204).always)
            let client = scene.client()
            for status in [301, 302, 303, 307, 308] {
                for method in [HTTPMethod.get, .head, .post, .put] {
                    scene.server.on(method, "/x", .redirect(status, to: "/target"))
                    let hasBody = method == .post || method == .put
                    let body = hasBody ? RequestBody.data(honest, contentType: "text/plain") : nil
                    _ = try await client.run(Endpoint<NoContent>(method, "x", body: body))
                    let becomesGet = status == 303 ? hasBody : status < 303 && method == .post
                    guard let last = scene.server.received.last else {
                        throw ConformanceScene.surprise("a request", "none")
                    }
                    let what = "\(status) after \(method)"
                    try scene.expect(what, last.method, is: becomesGet ? .get : method)
                    try scene.expect("\(what): the body", last.body, is: hasBody && !becomesGet ? honest : Data())
                    try scene.expect(
                        "\(what): the type", last.headers["Content-Type"] != nil, is: hasBody && !becomesGet)
                }
            }
        },
        Case("C53", "a loop and the eleventh redirect are errors; a relative location is resolved") { scene in
            scene.server.on(.get, "/a", .redirect(to: "/b").always)
            scene.server.on(.get, "/b", .redirect(to: "a").always)
            scene.server.onAny { request in
                guard let number = request.segments.last.flatMap({ Int($0) }) else { return .json("1") }
                return .redirect(to: "\(number + 1)")
            }
            for path in [EndpointPath("a"), "hops/0"] {
                let (error, _) = try await scene.failure("a refusal") { () async throws(ServiceError) in
                    try await scene.client().run(Endpoint<Int>.get(path))
                }
                guard case .rejected = error else { throw ConformanceScene.surprise(".rejected", error) }
            }
            let targets = ["/a", "/b"] + (0...10).map { "/hops/\($0)" }
            try scene.expect("targets", scene.server.received.map(\.target), is: targets)
            scene.server.on(.get, "/a/b/c", .redirect(to: "../d?e=1#f"))
            _ = try await scene.client().run(Endpoint<Int>.get("a/b/c"))
            try scene.expect("the target", scene.server.received.last?.target, is: "/a/d?e=1")
        },
    ]
}
