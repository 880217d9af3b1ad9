import Errand
import ErrandSimulation

extension Step {
    static let followEvents = Step(
        title: "Live events, over a connection that breaks", asked: "client.events(.get(\"build\")).until { … }"
    ) { scene in
        let server = try LoopbackServer()
        defer { server.close() }
        let (last, perConnection) = (24, 10)
        server.on(.get, "/build") { request in
            // Each connection goes on after the last event that the client has received, and then breaks off.
            let seen = request.headers["Last-Event-ID"].flatMap { Int($0) } ?? 0
            let events = (seen + 1...last + 1).prefix(perConnection).map { number in
                number > last ? ServerSentEvent("", type: "done") : ServerSentEvent("step \(number)", id: "\(number)")
            }
            return .events(events, every: .milliseconds(40), retry: .milliseconds(100)).cut(.beforeEnd)
        }
        let client = APIClient(server.baseURL) { $0.attemptMiddlewares = [scene.wire] }
        var steps: [String] = []
        for try await event in client.events(.get("build")).until({ $0.type == "done" }) {
            steps.append(event.data)
            scene.terminal.showProgress(steps.count, of: last, "events")
        }
        await client.shutdown()
        try expect(steps == (1...last).map { "step \($0)" }, "these events arrived: \(steps)")
        return "\(steps.count) events over \(server.received.count) connections, each once and in order"
    }
}
