@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("The pause before a retry") struct BackoffTests {
    @Test("C14: it is a random part of a duration that doubles, up to the cap", arguments: UInt64(0)..<20)
    func bounds(seed: UInt64) {
        let (backoff, clock) = (Backoff(), TestClock(seed: seed))
        var longest: [Duration] = []
        for retry in 1...12 {
            longest.append(backoff.longest(beforeRetry: retry))
            let pause = backoff.pause(beforeRetry: retry, random: clock.randomFraction())
            #expect(pause >= .zero && pause < longest[retry - 1])
        }
        let milliseconds = [200, 400, 800, 1600, 3200, 6400, 12_800, 20_000, 20_000, 20_000, 20_000, 20_000]
        #expect(longest == milliseconds.map { .milliseconds($0) })
    }

    @Test("C14: no number of retries and no base overflows")
    func edges() {
        #expect(Backoff().longest(beforeRetry: .max) == .seconds(20))
        #expect(Backoff().longest(beforeRetry: -3) == .milliseconds(200))
        let long = Backoff(base: .seconds(Int64.max), cap: .seconds(Int64.max))
        #expect(long.pause(beforeRetry: 9, random: 0) == .zero)
        #expect(long.pause(beforeRetry: 9, random: 0.999) > .seconds(1_000_000_000))
        #expect(long.pause(beforeRetry: 9, random: 1 - 1 / Double(1 << 53)) > .seconds(1_000_000_000))
    }

    @Test("C14: the pauses of a call follow from its seed, and differ from seed to seed")
    func seeds() async {
        var pauses: Set<[Instant]> = []
        for seed in UInt64(1)...8 {
            let first = await Self.instants(seed: seed)
            #expect(await Self.instants(seed: seed) == first)
            #expect(first.count == 3)
            #expect(first[0].duration(to: first[1]) < .milliseconds(200))
            #expect(first[1].duration(to: first[2]) < .milliseconds(400))
            pauses.insert(first)
        }
        #expect(pauses.count == 8)
    }

    private static func instants(seed: UInt64) async -> [Instant] {
        let (clock, network) = (TestClock(seed: seed), scripted())
        network.on(.get, "/x") { ScriptedReply.status(500).times(3) }
        let client = testClient(network, clock)
        await clock.run {
            await #expect(throws: ServiceError.self) { let _: Int = try await client.run(.get("x")) }
        }
        return network.sent.map(\.at)
    }
}
