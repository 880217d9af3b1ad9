import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("Event streams: the pause between connections", .timeLimit(.minutes(10))) struct EventPauseTests: EventScene {
    let clock = TestClock(seed: 5)
    let network = scripted()

    /// The pauses between connections of which each lasts a second.
    private var pauses: [Duration] { gaps.map { $0 - .seconds(1) } }

    @Test("E2: the server's wish is kept, with a little more")
    func wish() async throws {
        network.on(
            .get, "/feed", connection("retry: 5000\ndata: a\n\n"), connection("data: b\n\n"), .status(204))
        _ = await data(of: client().events(.get("feed")))
        for pause in pauses { #expect(pause >= .seconds(5) && pause <= .milliseconds(5500), "\(pause)") }
        #expect(Set(pauses).count == 2)
    }

    @Test("E2: without a wish the pause is random, and grows while no event comes")
    func own() async throws {
        network.on(.get, "/feed") {
            connection("data: a\n\n")
            for _ in 0..<8 { connection(": nothing\n\n") }
            ScriptedReply.status(204)
        }
        _ = await data(of: client().events(.get("feed")))
        #expect(pauses.count == 9)
        for (index, pause) in pauses.enumerated() {
            let longest = min(Duration.seconds(1 << max(0, index - 1)), .seconds(30))
            #expect(pause >= longest / 2 && pause <= longest, "\(index): \(pause)")
        }
    }

    @Test("E2: a first connection that fails is an error, or is waited for like a later one", arguments: [true, false])
    func fromStart(isAwaited: Bool) async throws {
        network.on(.get, "/feed") {
            for _ in 0..<(isAwaited ? 3 : 1) { ScriptedReply.status(503) }
            if isAwaited {
                connection("data: a\n\n")
                ScriptedReply.status(204)
            }
        }
        let events = client { $0.retry = .never }.events(.get("feed"))
        let (data, error) = await data(of: isAwaited ? events.reconnecting(fromStart: true) : events)
        #expect(data == (isAwaited ? ["a"] : []))
        #expect(error?.status == (isAwaited ? nil : 503))
        #expect(network.sent.count == (isAwaited ? 5 : 1))
    }

    @Test("E7: with `retry: 0` there is half a second between connections, and more for some, while events come too")
    func none() async throws {
        network.on(.get, "/feed") {
            for _ in 0..<20 { connection("retry: 0\ndata: a\n\n") }
            ScriptedReply.status(204)
        }
        let (data, error) = await data(of: client().events(.get("feed")))
        #expect(data.count == 20 && error == nil)
        for pause in pauses { #expect(pause >= .milliseconds(500) && pause <= .seconds(1), "\(pause)") }
        #expect(Set(pauses).count > 10)
    }

    @Test(
        "E7: a huge or a growing `retry` waits a minute at most, and readers do not come back together",
        arguments: [[99_999_999, 99_999_999, 99_999_999], [1_000, 60_000, 3_600_000], [.max, .max, .max]])
    func huge(wishes: [Int]) async throws {
        network.on(.get, "/feed") {
            for wish in wishes { connection("retry: \(wish)\ndata: a\n\n") }
            ScriptedReply.status(204)
        }
        _ = await data(of: client().events(.get("feed")))
        #expect(pauses.count == 3 && Set(pauses).count == 3)
        for (pause, wish) in zip(pauses, wishes) {
            #expect(pause >= min(.milliseconds(min(wish, 100_000)), .seconds(54)) && pause <= .seconds(60), "\(pause)")
        }
    }

    @Test("E7: the client's longest pause bounds the wish of a server too")
    func configured() async throws {
        network.on(.get, "/feed", connection("retry: 50000\ndata: a\n\n"), .status(204))
        _ = await data(of: client { $0.longestServerPause = .seconds(10) }.events(.get("feed")))
        #expect(pauses.allSatisfy { $0 >= .seconds(9) && $0 <= .seconds(10) }, "\(pauses)")
    }

    @Test(
        "E7: a server that refuses is asked after pauses that grow, whatever it has said, and once after each",
        arguments: [nil, 503, 429] as [Int?])
    func refused(status: Int?) async throws {
        network.on(.get, "/feed") {
            connection("retry: 0\ndata: a\n\n")
            (status.map { ScriptedReply.status($0) } ?? .failure(.refused)).times(8)
            ScriptedReply.status(204)
        }
        let (data, error) = await data(of: client().events(.get("feed")))
        #expect(data == ["a"] && error == nil)
        let pauses = Array(gaps.dropFirst())
        #expect(pauses.count == 8)
        for (index, pause) in pauses.enumerated() {
            let longest = min(Duration.seconds(1 << index), .seconds(30))
            #expect(pause >= longest / 2 && pause <= longest, "\(index): \(pause)")
        }
        try network.verify()
    }

    @Test("E7: the connections of a stream do not use up the retries of other calls")
    func quota() async throws {
        network.on(.get, "/feed") {
            connection("data: a\n\n")
            ScriptedReply.status(503).times(60)
            ScriptedReply.status(204)
        }
        network.on(.get, "/x") {
            ScriptedReply.status(503)
            ScriptedReply.json("1")
        }
        let client = client()
        _ = await data(of: client.events(.get("feed")))
        let value = try await clock.run { try await client.run(Endpoint<Int>.get("x")) }
        #expect(value == 1)
    }
}
