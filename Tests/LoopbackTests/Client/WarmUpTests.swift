import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("Connections that are opened before they are needed", .timeLimit(.minutes(10)))
struct WarmUpTests {
    private func client(_ url: String, _ configure: (inout Configuration) -> Void = { _ in }) -> APIClient {
        APIClient(url) {
            $0.rateLimit = .unlimited
            $0.retry = .never
            // Real time: a busy machine must not fail the test.
            $0.timeout = .seconds(60)
            configure(&$0)
        }
    }

    @Test("as many connections are open as were asked for, and the calls use them", arguments: [1, 4])
    func connections(count: Int) async throws {
        let server = try LoopbackServer()
        // None is answered before all have come, so none can use the connection of another.
        let meeting = Meeting(of: count)
        server.on(.head, "/v1") { _ in
            meeting.wait()
            return .status(405)
        }
        server.on(.get, "/v1/x") { .json("\($0.connection)") }
        let client = client(server.baseURL + "/v1") {
            $0.credentials = .bearer("secret")
            $0.sharesEqualRequests = true
        }
        try await client.warmUp(connections: count)
        #expect(server.openConnections == count)
        let used = try await client.run(Endpoint<Int>.get("x"))
        #expect((1...count).contains(used) && server.openConnections == count)
        let sent = server.received.map { "\($0.method) \($0.headers["Authorization"] ?? "-")" }
        #expect(sent == Array(repeating: "HEAD -", count: count) + ["GET Bearer secret"])
        await client.shutdown()
    }

    @Test("without a server it fails as a call does, and each request takes a permit")
    func failures() async throws {
        let closed = try LoopbackServer(isListening: false)
        let client = client(closed.baseURL)
        let error = try await #require(throws: ServiceError.self) { try await client.warmUp() }
        guard case .transport(let failure) = error else { throw error }
        #expect(failure.kind == .refused)
        let none = try await #require(throws: ServiceError.self) { try await client.warmUp(connections: 0) }
        guard case .invalidRequest = none else { throw none }
        let (clock, network) = (TestClock(), scripted())
        network.on(.head, "/") { ScriptedReply.status(404).always }
        let slow = testClient(network, clock) { $0.rateLimit = .requests(2, per: .seconds(1)) }
        try await clock.run {
            try await slow.warmUp(connections: 4)
            #expect(clock.now == .ms(1000) && network.sent.count == 4)
        }
        await client.shutdown()
    }
}
