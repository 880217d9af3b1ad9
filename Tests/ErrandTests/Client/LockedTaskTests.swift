@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("What a cancellation handler may do with a client", .timeLimit(.minutes(10))) struct LockedTaskTests {
    private let client = APIClient("https://api.test") {
        let network = ScriptedTransport()
        network.onAny { ScriptedReply.json("1").always }
        $0.transport = network
        $0.rateLimit = .unlimited
    }

    @Test("C99: cancel all calls, while a call begins and wakes the canceled tasks")
    func activity() async throws {
        let client = client
        let isFree = try await LockedTask.canUse {
            _ = try? await client.run(Endpoint<Int>.get("a"))
        } ends: {
            for await number in client.activity where number > 0 { return }
        } _: {
            client.cancelAll()
        }
        #expect(isFree)
    }

    @Test("C99: listen to events, while the canceled tasks receive some")
    func events() async throws {
        let hub = EventHub()
        let isFree = try await LockedTask.canUse {
            hub.send(ClientEvent(call: 1, endpoint: "a", at: .zero, kind: .began))
            // Passes the event on.
            _ = hub.stream
        } ends: {
            for await _ in hub.stream { return }
        } _: {
            _ = hub.stream
        }
        #expect(isFree)
    }
}
