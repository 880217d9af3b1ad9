import Errand
import ErrandSimulation

/// What several servers, a breaker and second requests cost and give, with real servers on this machine.
enum ServersBench {
    /// How often a response is late, and by how much.
    private static let late = (each: 50, by: Duration.seconds(1))
    private static let calls = 20_000
    private static let timeout = Duration.milliseconds(500)

    static func run(into report: inout Report) async throws {
        try await addCosts(to: &report)
        try await addFaults(to: &report)
        try await addHedging(to: &report)
    }

    /// What a call pays for the layer, beside one without it, both answered from a script.
    private static func addCosts(to report: inout Report) async throws {
        var (plain, watched): ([Double], [Double]) = ([], [])
        for _ in 0..<7 {
            for isWatched in [false, true] {
                let network = ScriptedTransport { print($0) }
                network.onAny { ScriptedReply.json("1").always }
                let client = APIClient("https://api.test") {
                    $0.transport = network
                    $0.rateLimit = .unlimited
                    if isWatched { $0.breaker = .standard }
                }
                let time = try await seconds {
                    for _ in 0..<calls { _ = try await client.run(Endpoint<Int>.get("x")) }
                }
                if isWatched { watched.append(time) } else { plain.append(time) }
            }
        }
        let perCall = 1e6 / Double(calls)
        report.add("servers.us_per_call_one_server", .number(median(plain) * perCall), "µs for a call, one server")
        report.add(
            "servers.us_per_call_breaker", .number((median(watched) - median(plain)) * perCall),
            "µs more for a call whose server has a breaker")
    }

    /// What happens to the first of two servers in the middle of a thousand calls.
    private enum Fault: String, CaseIterable {
        case killed, hanging, unavailable, broken

        var meaning: String {
            switch self {
            case .killed: "it refuses connections"
            case .hanging: "it accepts requests and does not respond"
            case .unavailable: "it responds with 503"
            case .broken: "it closes the connection in place of a response"
            }
        }

        var reply: LoopbackReply {
            switch self {
            case .killed: .json("1")
            case .hanging: .json("1").after(.seconds(30))
            case .unavailable: .status(503)
            case .broken: .json("1").cut(.beforeHead)
            }
        }
    }

    private static func addFaults(to report: inout Report) async throws {
        for fault in Fault.allCases {
            let begin = Lock<ContinuousClock.Instant?>(nil)
            let firstOther = Lock<ContinuousClock.Instant?>(nil)
            let (servers, client) = try pair { server, _ in
                if server == 1 { firstOther.withLock { $0 = $0 ?? .now } }
                return server == 0 && begin.withLock({ $0 }) != nil ? fault.reply : .json("1")
            }
            defer { for server in servers { server.close() } }
            let (attempts, slow) = (Counter(), Counter())
            let results = await client.results(of: Array(0..<1000), atMost: 16) { number in
                if number == 500 {
                    begin.withLock { $0 = .now }
                    if fault == .killed { servers[0].close() }
                }
                let start = ContinuousClock.now
                defer { if start.duration(to: .now) >= timeout { slow.add(1) } }
                let reply = try await client.reply(to: Endpoint<Int>.get("x"))
                attempts.add(reply.attempts - 1)
            }
            let key = "servers.\(fault)"
            report.add(
                "\(key)_failed", .count(results.count { (try? $0.get()) == nil }),
                "calls of 1,000 that failed, 16 at a time: \(fault.meaning)")
            report.add("\(key)_attempts", .count(attempts.value), "second attempts")
            report.add(
                fault == .hanging ? "servers.calls_that_waited_for_it" : "\(key)_slow", .count(slow.value),
                "calls that waited for a timeout")
            if fault == .killed, let start = begin.withLock({ $0 }), let next = firstOther.withLock({ $0 }) {
                report.add(
                    "servers.seconds_to_leave_a_dead_one", .number(start.duration(to: next).inSeconds),
                    "seconds from its death to the first request to the other")
            }
        }
    }

    /// Two in a hundred responses are late.
    private static func addHedging(to report: inout Report) async throws {
        var figures: [(p99: Double, sends: Int)] = []
        for policy in [HedgingPolicy.none, .after(.percentile(95))] {
            let (servers, client) = try pair({ _, number in
                number.isMultiple(of: late.each) ? .json("1").after(late.by) : .json("1")
            }) {
                $0.hedging = policy
                $0.servers.choice = .roundRobin
                $0.timeout = .seconds(30)
            }
            let durations = Lock<[Double]>([])
            let results = await client.results(of: Array(0..<calls), atMost: 64) { _ in
                let reply = try await client.reply(to: Endpoint<Int>.get("x"))
                durations.withLock { $0.append(reply.duration.inSeconds) }
            }
            guard results.allSatisfy({ (try? $0.get()) != nil }) else { throw Failed() }
            let sorted = durations.withLock { $0.sorted() }
            figures.append((sorted[calls * 99 / 100], servers.reduce(0) { $0 + $1.received.count }))
            for server in servers { server.close() }
        }
        report.add(
            "servers.p99_without_hedging", .number(figures[0].p99 * 1000),
            "ms: 99 of 100 calls took no longer; 2 % of the responses are late by a second")
        report.add("servers.p99_with_hedging", .number(figures[1].p99 * 1000), "ms: likewise with hedging")
        report.add(
            "servers.extra_sends", .number(Double(figures[1].sends - figures[0].sends) / Double(calls)),
            "second requests for each call")
    }

    private struct Failed: Error {}

    /// Two servers, and a client of both. `reply` receives the numbers of the server and of the request.
    private static func pair(
        _ reply: @escaping @Sendable (_ server: Int, _ request: Int) -> LoopbackReply,
        _ configure: (inout Configuration) -> Void = { _ in }
    ) throws -> ([LoopbackServer], APIClient) {
        let numbers = Lock(0)
        let servers = try [LoopbackServer(), LoopbackServer()]
        for (index, server) in servers.enumerated() {
            server.on(.get, "/x") { _ in
                let number = numbers.withLock { number in
                    number += 1
                    return number
                }
                return reply(index, number)
            }
        }
        let client = APIClient(.servers(servers[0].baseURL, servers[1].baseURL)) {
            $0.rateLimit = .unlimited
            $0.timeout = timeout
            configure(&$0)
        }
        return (servers, client)
    }
}
