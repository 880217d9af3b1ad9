import Errand
import ErrandSimulation

extension Step {
    static let changeServers = Step(
        title: "A server that dies", asked: "GET friends 200 times of two servers, the first of which is killed halfway"
    ) { scene in
        let servers = try [LoopbackServer(), LoopbackServer()]
        defer { for server in servers { server.close() } }
        for server in servers { server.onAny(.json(#"["Ann"]"#).after(.milliseconds(1)).always) }
        let client = APIClient(.servers(servers[0].baseURL, servers[1].baseURL)) {
            $0.rateLimit = .unlimited
            $0.attemptMiddlewares.append(scene.wire)
        }
        let results = await client.results(of: Array(1...200), atMost: 8) { number in
            if number == 100 { servers[0].close() }
            return try await client.run(Endpoint<[String]>.get("friends"))
        }
        let failed = results.count { (try? $0.get()) == nil }
        try expect(failed == 0, "\(failed) calls failed")
        let counts = servers.map(\.received.count)
        try expect(counts.allSatisfy { $0 > 50 }, "the servers had \(counts) requests")
        return "no call failed; \(counts[0]) requests went to the first server, \(counts[1]) to the second"
    }
}
