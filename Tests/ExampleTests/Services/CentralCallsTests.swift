import Errand
import ErrandTesting
import ExampleServices
import Testing

@Suite("Central: its listeners, and how its calls end", .timeLimit(.minutes(10))) struct CentralCallsTests {
    private let clock = TestClock()
    private let network = script()
    private let central: Central

    init() {
        central = Central(Central.Settings(host: "central.test"), time: clock, scripted(network, clock))
    }

    private func endpoint(_ path: EndpointPath) -> Endpoint<Int> {
        Endpoint<Int>.get(path).authentication(.none)
    }

    @Test("several listeners receive all failures and all lines, in the order in which the calls ended")
    func listeners() async throws {
        network.on(.get, "/slow", .status(503).after(.seconds(3)))
        network.on(.get, "/fast", .status(404).after(.seconds(1)))
        let failures = (0..<2).map { _ in central.failures }
        let logs = (0..<2).map { _ in central.log }
        let (slow, fast) = (central.start(endpoint("slow")), central.start(endpoint("fast")))
        await clock.sleepers(atLeast: 2)
        await clock.advance(by: .seconds(2))
        _ = await fast.value
        _ = await failure { () async throws(ServiceError) in try await central.checkToken() }
        await clock.advance(by: .seconds(1))
        _ = await slow.value
        await central.shutdown()
        for stream in failures {
            #expect(await stream.reduce(into: []) { $0.append($1.status) } == [404, nil, 503])
        }
        for stream in logs {
            let ends = await stream.reduce(into: [String]()) { if $1.contains("ended") { $0.append($1) } }
            #expect(ends.map { $0.contains("GET fast") } == [true, false, false])
            #expect(ends.map { $0.contains("GET token") } == [false, true, false])
            #expect(ends.map { $0.contains("GET slow") } == [false, false, true])
        }
    }

    @Test("a listener that has left costs the others nothing")
    func left() async throws {
        network.on(.get, "/x", .status(404), .status(503))
        let stays = central.failures
        do {
            let leaves = central.failures
            _ = await central.start(endpoint("x")).value
            for await failure in leaves {
                #expect(failure.status == 404)
                break
            }
        }
        _ = await central.start(endpoint("x")).value
        await central.shutdown()
        #expect(await stays.reduce(into: []) { $0.append($1.status) } == [404, 503])
    }

    @Test("after a change, the calls of two clients can be distinguished in the log")
    func numbers() async throws {
        network.on(.get, "/x", .json("1").times(2))
        let log = central.log
        _ = try await central.run(endpoint("x"))
        await central.change { $0.device = .tablet }
        _ = try await central.run(endpoint("x"))
        await central.shutdown()
        let calls = await log.reduce(into: Set<Substring>()) { $0.insert($1.prefix { $0 != " " }) }
        #expect(calls == ["#1.1", "#2.1"])
    }

    @Test("cancelAll ends what was started and what was run, before and after a change; new calls may begin")
    func cancelAll() async throws {
        network.on(.get, "/x", .silence.times(3))
        network.on(.get, "/y", .json("1"))
        let started = central.start(endpoint("x"))
        async let run = failure { () async throws(ServiceError) in try await central.run(endpoint("x")) }
        await network.sent(atLeast: 2)
        await central.change { $0.device = .tablet }
        let later = central.start(endpoint("x"))
        await network.sent(atLeast: 3)
        await central.cancelAll()
        #expect(await started.value == .failure(.cancelled))
        #expect(await later.value == .failure(.cancelled))
        #expect(await run == .cancelled)
        #expect(await central.start(endpoint("y")).value == .success(1))
    }

    @Test("a call that was started a moment before cancelAll ends with it")
    func cancelledAtOnce() async throws {
        network.on(.get, "/x", .json("1").after(.seconds(1)).always)
        let calls = (0..<50).map { _ in central.start(endpoint("x")) }
        await central.cancelAll()
        // A call that was missed ends too, with its reply.
        let time = Task {
            while !Task.isCancelled {
                await clock.advance(by: .seconds(1))
                await Task.yield()
            }
        }
        for call in calls { #expect(await call.value == .failure(.cancelled)) }
        time.cancel()
    }

    @Test("a shutdown ends started calls and all streams; later calls fail, after a change too")
    func shutdown() async throws {
        network.on(.get, "/x", .silence.times(2))
        let (failures, activity) = (central.failures, central.activity)
        let first = central.start(endpoint("x"))
        await network.sent(atLeast: 1)
        await central.change { $0.device = .tablet }
        let second = central.start(endpoint("x"))
        await network.sent(atLeast: 2)
        await central.shutdown()
        #expect(await first.value == .failure(.cancelled))
        #expect(await second.value == .failure(.cancelled))
        #expect(await failures.reduce(0) { count, _ in count + 1 } == 0)
        #expect(await activity.reduce(into: []) { $0.append($1) } == [0])
        await central.change { $0.device = .phone }
        for await _ in central.log { Issue.record("a stream of a central that was shut down has an element") }
        guard case .failure(.invalidRequest(let problem)) = await central.start(endpoint("x")).value else {
            Issue.record("a call ran after the shutdown")
            return
        }
        #expect(problem.subject == .clientShutDown)
        #expect(network.sent.count == 2)
    }
}
