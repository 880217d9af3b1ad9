import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

struct Job: Decodable, Sendable {
    var isDone: Bool
}

func finished(_ job: Int, _ client: APIClient, time: any TimeSource) async throws(ServiceError) -> Job {
    while true {
        let found: Job = try await client.run(.get("jobs/\(job)"))
        if found.isDone { return found }
        try await time.sleep(for: .seconds(2))
    }
}

@Suite("Cancellation")
struct CancellationSamples {
    @Test("a call ends with its task")
    func task() async throws {
        let network = scripted()
        network.on(.get, "/friends") { .silence }
        let clock = TestClock()
        let client = testClient(network, clock)
        let call = Task { try await client.run(.friends) }
        await network.sent(atLeast: 1)
        call.cancel()
        let outcome = await call.result
        #expect(throws: ServiceError.cancelled) { try outcome.get() }
    }

    @Test("limits of time, for a client and for one call")
    func limits() async throws {
        let network = scripted()
        network.on(.get, "/friends") { .silence }
        let clock = TestClock()
        let client = testClient(network, clock)
        let printed = await clock.run { await timedOut(client) }
        #expect(printed == "deadline 1.5 seconds waitingForResponse")
        #expect(clock.elapsed == .milliseconds(1500))
        #expect(limitedClient().configuration.deadline == .seconds(20))
    }

    @Test("a pause between two calls takes virtual time, and ends with its task")
    func pauses() async throws {
        let network = scripted()
        network.on(.get, "/jobs/7", .json(#"{"isDone": false}"#), .json(#"{"isDone": true}"#))
        let clock = TestClock()
        let client = testClient(network, clock)
        #expect(try await clock.run { try await finished(7, client, time: clock) }.isDone)
        #expect(clock.elapsed == .seconds(2))
        network.on(.get, "/jobs/8", .json(#"{"isDone": false}"#))
        let waiting = Task { try await finished(8, client, time: clock) }
        await clock.sleepers(atLeast: 1)
        waiting.cancel()
        await #expect(throws: ServiceError.cancelled) { try await waiting.value }
    }

    private func timedOut(_ client: APIClient) async -> String? {
        var printed: String?
        func show(_ users: [User]) { Issue.record("silence was taken for an answer") }
        func show(_ error: ServiceError) { Issue.record(error) }
        func print(_ bound: Timeout.Bound, _ limit: Duration, _ phase: Phase) { printed = "\(bound) \(limit) \(phase)" }
        do {
            let friends: Endpoint<[User]> = .friends
                .timeout(.seconds(60)).deadline(.milliseconds(1500))
            show(try await client.run(friends))
        } catch .timedOut(let timeout) {
            print(timeout.bound, timeout.limit, timeout.phase)
            // deadline 1.5 seconds waitingForResponse
        } catch {
            show(error)
        }
        return printed
    }

    private func limitedClient() -> APIClient {
        let client = APIClient("https://api.example.com") {
            $0.timeout = .seconds(5)  // of silence; 30 s by default
            $0.deadline = .seconds(20)  // for the whole call; none by default
        }
        return client
    }

    @Test("everything stops")
    func end() async {
        let client = testClient(scripted())
        client.cancelAll()  // calls in flight end with .cancelled; new calls may begin
        await client.shutdown()  // nothing of the client runs any more; new calls fail
        await #expect(throws: ServiceError.self) { try await client.run(.friends) }
    }

    private func spinner(_ client: APIClient, show: (Bool) -> Void) async {
        for await count in client.activity { show(count > 0) }
    }
}
