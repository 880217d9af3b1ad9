@testable import Errand
import ErrandFleet
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

/// Whole nodes, each with its client, on machines whose clocks agree in nothing.
@Suite("A walk of whole fleets", .timeLimit(.minutes(5))) struct LimitWalkFleetTests {
    private static let permits = 20
    private let clock = TestClock()
    private let memory = TroubledStore()

    @Test(
        "F7: wall clocks an hour apart, and clocks that run 0.9 % apart, change nothing",
        arguments: 1...(LongRun.isWanted ? 3 : 1) as ClosedRange<UInt64>)
    func clocks(seed: UInt64) async throws {
        let server = RefusingServer(clock: clock, permits: Self.permits, seed: seed)
        var random = SeededGenerator(seed: seed)
        let clocks = [(0.9955, -1800.0), (1, 0), (1.0045, 1800)].map { rate, date in
            MachineClock(
                clock, rate: rate, offset: Int64.random(in: 0...1_000_000_000_000, using: &random), date: date)
        }
        let machines = clocks.enumerated().map { index, time in
            WalkMachine(
                number: index, time: time, store: memory.another, server: server, seed: seed &* 10 + UInt64(index))
        }
        let length = Duration.seconds(LongRun.isWanted ? 200 : 100)
        await clock.run {
            let start = clock.now
            await withDiscardingTaskGroup { group in
                for machine in machines {
                    group.addTask { await machine.run(until: start.advanced(by: length)) }
                }
                group.addTask { await trouble(machines, until: start.advanced(by: length / 2), seed: seed) }
            }
        }
        let checker = server.checker
        #expect(checker.faults.isEmpty)
        #expect(checker.largestSum(in: .seconds(1)) <= Self.permits)
        #expect(checker.sends > (LongRun.isWanted ? 1000 : 500))
        #expect((0..<3).allSatisfy { server.counts[$0] ?? 0 > 200 }, "\(server.counts)")
    }

    /// Keeps machines from the store for a while, and loses responses.
    private func trouble(_ machines: [WalkMachine], until end: Instant, seed: UInt64) async {
        var random = SeededGenerator(seed: seed &+ 1000)
        while clock.now < end {
            try? await clock.sleep(for: .seconds(Double.random(in: 0.5...3, using: &random)))
            guard let machine = machines.randomElement(using: &random) else { return }
            switch Int.random(in: 0..<4, using: &random) {
            case 0: machine.store.failure = TroubledStore.unreachable
            case 1: machine.store.losesResponses.toggle()
            default: machine.store.failure = nil
            }
        }
        for machine in machines {
            machine.store.failure = nil
            machine.store.losesResponses = false
        }
    }
}

/// A machine on which one process follows the other, before the calls of the last have ended.
private struct WalkMachine {
    let number: Int
    let time: MachineClock
    let store: TroubledStore
    let server: RefusingServer
    let seed: UInt64

    func run(until end: Instant) async {
        var random = SeededGenerator(seed: seed)
        let clock = time.clock
        await withDiscardingTaskGroup { group in
            var process = number * 1000
            while clock.now < end {
                process += 1
                let fleet = Fleet(
                    store: store, name: "walk", node: "\(number)", lifetime: .seconds(4), time: time)
                let client = APIClient("https://api.example.com") {
                    $0.transport = StampingTransport(server: server, process: process)
                    $0.limiter = fleet.limiter(
                        "api", .requests(20, per: .seconds(1)), lowering: .on429(recoveringEvery: .seconds(2)))
                    $0.time = time
                    $0.timeout = nil
                    $0.attemptMiddlewares = [Delay(clock: clock)]
                }
                let last = min(end, clock.now.advanced(by: .seconds(Double.random(in: 8...40, using: &random))))
                for caller in 0..<8 {
                    let endpoint = Endpoint<NoContent>.get(caller == 0 ? "/5" : "/1").permits(caller == 0 ? 5 : 1)
                    group.addTask {
                        while clock.now < last { _ = try? await client.run(endpoint) }
                    }
                }
                try? await clock.sleep(until: last)
                await fleet.leave()
            }
        }
    }
}

/// Waits now and then between the permit and the send.
private struct Delay: Middleware {
    let clock: TestClock

    func intercept(_ request: HTTPRequest, _ context: CallContext, next: Next) async throws -> HTTPResponse {
        let number = clock.random() % 3000
        if number < 60 { try await clock.sleep(for: .milliseconds(Int(number) * 30)) }
        return try await next(request, context)
    }
}

/// Counts what arrives, and asks for pauses: in seconds, or with a date by its own clock.
private final class RefusingServer: Sendable {
    private struct State {
        var checker: WalkChecker
        var random: SeededGenerator
        var counts: [Int: Int] = [:]
    }

    private let clock: TestClock
    private let state: Lock<State>

    init(clock: TestClock, permits: Int, seed: UInt64) {
        self.clock = clock
        state = Lock(State(checker: WalkChecker(permits: permits), random: SeededGenerator(seed: seed &+ 500)))
    }

    var checker: WalkChecker { state.withLock { $0.checker } }
    var counts: [Int: Int] { state.withLock { $0.counts } }

    func response(to cost: Int, from process: Int) -> HTTPResponse {
        let now = clock.now.nanoseconds
        let (isRefused, seconds) = state.withLock { state in
            state.checker.sent(cost, by: process, at: now)
            state.counts[process / 1000, default: 0] += cost
            let isRefused = Int.random(in: 0..<400, using: &state.random) == 0
            return (isRefused, Int.random(in: 1...5, using: &state.random))
        }
        guard isRefused else { return HTTPResponse(status: 204) }
        // Its client knows of it in a moment, and other requests may leave until then.
        _ = clock.schedule(at: clock.now.advanced(by: .milliseconds(1)), for: .watch) { [self] in
            state.withLock { $0.checker.heardPause(process, for: Double(seconds), at: now) }
        }
        // A process whose clock has this date makes no difference.
        let date = clock.date
        let after = seconds % 2 == 0 ? "\(seconds)" : HTTPDate.text(date.addingTimeInterval(Double(seconds)))
        return HTTPResponse(status: 429, headers: ["Date": HTTPDate.text(date), "Retry-After": after])
    }
}

/// Passes requests to the server at the instant at which they use their permits.
private struct StampingTransport: Transport {
    let server: RefusingServer
    let process: Int

    let features: TransportFeatures = [.observesStops, .usesPermits]

    func send(_ request: HTTPRequest, context: TransportContext) async throws -> HTTPResponse {
        try await context.usePermit()
        return server.response(to: request.url.path == "/5" ? 5 : 1, from: process)
    }

    func shutdown() async {}
}

/// The clocks of one machine: another rate, another origin, and a wall clock that is wrong.
private struct MachineClock: TimeSource {
    let clock: TestClock
    private let rate: Double
    private let offset: Int64
    private let difference: TimeInterval

    init(_ clock: TestClock, rate: Double, offset: Int64, date difference: TimeInterval) {
        (self.clock, self.rate, self.offset, self.difference) = (clock, rate, offset, difference)
    }

    var now: Instant { Instant(nanoseconds: offset + Int64(Double(clock.now.nanoseconds) * rate)) }
    var date: Date { clock.date.addingTimeInterval(difference) }
    var executor: (any TaskExecutor)? { clock.executor }
    func random() -> UInt64 { clock.random() }

    func schedule(
        at instant: Instant, for purpose: Alarm.Purpose, _ action: @escaping @Sendable () -> Void
    ) -> Alarm {
        guard instant < .distantFuture else { return clock.schedule(at: instant, for: purpose, action) }
        let shared = (Double(instant.nanoseconds - offset) / rate).rounded(.up)
        return clock.schedule(at: Instant(nanoseconds: Int64(shared) + 1), for: purpose, action)
    }
}
