import Errand
import ErrandSimulation
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension Step {
    static let followEvents = Step(
        title: "Live events, over a connection that breaks", asked: "client.events(.get(\"build\")).until { … }"
    ) { scene in
        let server = try LoopbackServer()
        defer { server.close() }
        let (last, perConnection) = (24, 10)
        server.on(.get, "/build") { request in
            // Each connection goes on after the last event that the client has received, and then breaks.
            let seen = request.headers["Last-Event-ID"].flatMap { Int($0) } ?? 0
            let events = (seen + 1...last + 1).prefix(perConnection).map { event($0, of: last) }
            var reply = LoopbackReply.chunks(events, headers: ["Content-Type": "text/event-stream"])
            // Without the last chunk, the response has broken off.
            reply.steps = reply.steps.dropLast().flatMap { [$0, .pause(.milliseconds(40))] } + [.close]
            return reply
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

    /// The client connects again after a tenth of a second.
    private static func event(_ number: Int, of last: Int) -> Data {
        let lines =
            number <= last ? "id: \(number)\nretry: 100\ndata: step \(number)" : "id: \(number)\nevent: done\ndata: all"
        return Data("\(lines)\n\n".utf8)
    }
}
