import Errand
import ErrandFleet

/// Calls one after the other under a limit that never binds, and prints how many calls it made per second.
struct SpeedRun {
    private let fleet: Fleet
    private let client: APIClient

    /// Creates a run over a store; with a limiter of this process alone if there is none.
    init(_ store: (any FleetStore)?) {
        let fleet = Fleet(store: store ?? FileFleetStore(folder: "/"), name: "speed")
        let limit = RateLimit.requests(1_000_000, per: .seconds(1))
        client = APIClient("https://api.example.com") {
            $0.transport = EmptyTransport()
            $0.limiter = store == nil ? RateLimiter(limit) : fleet.limiter("speed", limit)
        }
        self.fleet = fleet
    }

    /// Calls from that instant on for that long, so that several processes do at the same time.
    func run(from start: Instant, for duration: Duration) async throws {
        let call = Endpoint<NoContent>.get("/")
        // The first one waits for the node's permits.
        try await client.run(call)
        while now() < start { try await client.run(call) }
        let end = start.advanced(by: duration)
        var calls = 0
        while now() < end {
            for _ in 0..<100 { try await client.run(call) }
            calls += 100
        }
        say("\(Int(Double(calls) / (start.duration(to: now()) / .seconds(1))))")
        await fleet.leave()
    }
}

/// Responds at once.
private struct EmptyTransport: Transport {
    func send(_ request: HTTPRequest, context: TransportContext) async throws -> HTTPResponse {
        HTTPResponse(status: 204)
    }

    func shutdown() async {}
}
