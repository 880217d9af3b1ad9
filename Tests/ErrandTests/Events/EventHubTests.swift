@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("The listeners of events", .timeLimit(.minutes(10))) struct EventHubTests {
    private let hub = EventHub()

    private func event(_ call: Int) -> ClientEvent {
        ClientEvent(call: call, endpoint: "GET x", at: .zero, kind: .began)
    }

    @Test("a listener receives what has happened although the call has not ended")
    func live() async throws {
        let network = scripted()
        network.onAny { .silence }
        let client = testClient(network)
        var events = client.diagnostics.makeAsyncIterator()
        let call = Task { try await client.run(Endpoint<Int>.get("x")) }
        #expect(await events.next()?.kind == .began)
        let sent = try #require(await events.next())
        guard case .sent(let request, 1) = sent.kind else { throw Unexpected(sent) }
        #expect(request.url == "https://api.test/x")
        call.cancel()
        #expect(await events.next()?.call == 1)
        _ = await call.result
    }

    private struct Unexpected: Error {
        let event: ClientEvent

        init(_ event: ClientEvent) { self.event = event }
    }

    @Test("a slow listener misses the oldest beyond ten thousand")
    func overflow() async {
        let events = hub.stream
        for number in 0..<10_003 { hub.send(event(number)) }
        hub.finish()
        let calls = await events.reduce(into: []) { $0.append($1.call) }
        #expect(calls == Array(3..<10_003))
    }

    @Test("each listener receives the events from when it began; one that comes after the end receives none")
    func listeners() async {
        let early = hub.stream
        hub.send(event(1))
        let late = hub.stream
        hub.send(event(2))
        hub.finish()
        #expect(await early.reduce(into: []) { $0.append($1.call) } == [1, 2])
        #expect(await late.reduce(into: []) { $0.append($1.call) } == [2])
        #expect(await hub.stream.reduce(into: []) { $0.append($1.call) } == [])
    }

    @Test("a listener that is cancelled while it waits ends, and the others stay")
    func cancelled() async {
        let (left, stays) = (hub.stream, hub.stream)
        let listening = Task { await left.reduce(into: []) { $0.append($1.call) } }
        listening.cancel()
        #expect(await listening.value == [])
        hub.send(event(1))
        hub.finish()
        #expect(await stays.reduce(into: []) { $0.append($1.call) } == [1])
    }

    @Test("when the last stream is released, there are no listeners any more")
    func released() {
        do {
            let stream = hub.stream
            #expect(hub.hasListeners)
            _ = stream
        }
        #expect(!hub.hasListeners)
    }

    @Test("events that many tasks send arrive once each, those of one task in order")
    func concurrent() async {
        let events = hub.stream
        let listening = Task { await events.reduce(into: [Int]()) { $0.append($1.call) } }
        await withTaskGroup { group in
            for task in 0..<8 {
                group.addTask { [hub] in for number in 0..<1_000 { hub.send(event(task * 1_000 + number)) } }
            }
        }
        hub.finish()
        let calls = await listening.value
        #expect(calls.count == 8_000 && Set(calls).count == 8_000)
        for task in 0..<8 {
            let own = calls.filter { $0 / 1_000 == task }
            #expect(own == own.sorted())
        }
    }
}
