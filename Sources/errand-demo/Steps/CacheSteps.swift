import Errand
import ErrandSimulation

extension Step {
    /// Friends of a server of a step's own.
    private static let people = Endpoint<[String]>.get("friends")

    /// Returns a server whose friends may be kept as `control` says, and that confirms what a client has.
    private static func server(_ control: String) throws -> LoopbackServer {
        let server = try LoopbackServer()
        let headers: HTTPHeaders = ["Cache-Control": control, "ETag": "\"7\""]
        server.on(.get, "/friends") { request in
            request.headers["If-None-Match"] == "\"7\""
                ? .status(304, headers: headers) : .json(#"["Ann", "Ben"]"#, headers: headers)
        }
        return server
    }

    static let secondLoad = Step(
        title: "A second load from the cache, and one that the server confirms",
        asked: "$0.cache = .memory(megabytes: 5), and each list twice"
    ) { scene in
        let (lasting, checked) = (try server("max-age=60"), try server("no-cache"))
        defer { for server in [lasting, checked] { server.close() } }
        let cache = HTTPCache.memory(megabytes: 5)
        var kinds: [String] = []
        for server in [lasting, checked] {
            let client = APIClient(server.baseURL) {
                $0.cache = cache
                $0.attemptMiddlewares = [scene.wire]
            }
            for _ in 1...2 {
                let reply = try await client.reply(to: people)
                try expect(reply.value == ["Ann", "Ben"] && reply.status == 200, "\(reply.status): \(reply.value)")
                kinds.append(reply.cache.map { "\($0.kind)" } ?? "none")
            }
            await client.shutdown()
        }
        try expect(kinds == ["miss", "hit", "miss", "revalidated"], "the cache said \(kinds)")
        let sends = lasting.received.count + checked.received.count
        try expect(sends == 3, "\(sends) requests were sent")
        return "the first list again without a request, the second after a 304 without a body"
    }

    static let staleAnswer = Step(
        title: "A server that is gone, and what it said before", asked: "the list again, after the server has stopped"
    ) { scene in
        let server = try server("max-age=0, stale-if-error=3600")
        let client = APIClient(server.baseURL) {
            $0.cache = .memory(megabytes: 5)
            $0.attemptMiddlewares = [scene.wire]
        }
        let before = try await client.run(people)
        server.close()
        await server.closed()
        let reply = try await client.reply(to: people)
        await client.shutdown()
        let said = reply.cache.map { "\($0)" } ?? "nothing"
        try expect(reply.value == before && reply.cache?.kind == .stale, "\(reply.value), the cache said \(said)")
        return "\(before.count) friends, although the server refuses the connection: \(said)"
    }

    static let sharedCalls = Step(
        title: "Ten equal calls at once", asked: "$0.sharesEqualRequests = true, and the list in ten tasks"
    ) { scene in
        let server = try LoopbackServer()
        defer { server.close() }
        server.on(.get, "/friends") { _ in .json(#"["Ann", "Ben"]"#).after(.milliseconds(300)) }
        let client = APIClient(server.baseURL) {
            $0.sharesEqualRequests = true
            $0.attemptMiddlewares = [scene.wire]
        }
        let lists = try await withThrowingTaskGroup(of: [String].self) { group in
            for _ in 1...10 { group.addTask { try await client.run(people) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        await client.shutdown()
        try expect(lists == Array(repeating: ["Ann", "Ben"], count: 10), "\(lists)")
        try expect(server.received.count == 1, "\(server.received.count) requests were sent")
        return "ten lists, and one request"
    }
}
