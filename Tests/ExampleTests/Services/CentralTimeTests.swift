import Errand
import ErrandTesting
import ExampleServices
import Testing

@Suite("Central, in virtual time") struct CentralTimeTests {
    private let clock = TestClock()
    private let network = script()
    private let endpoint = Endpoint<Int>.get("x").authentication(.none)

    private func central() -> Central {
        Central(Central.Settings(host: "central.test"), time: clock, scripted(network, clock))
    }

    @Test("scheme, host, port, path and version are settings too")
    func everySetting() async throws {
        network.on(.get, "https://central.test/x?version=1.0&device_type=phone", .json("1"))
        network.on(.get, "http://127.0.0.1:8080/v2/x?version=2.0&device_type=phone", .json("2"))
        let central = central()
        #expect(try await central.run(endpoint) == 1)
        await central.change {
            ($0.scheme, $0.host, $0.port, $0.path) = ("http", "127.0.0.1", 8080, "/v2")
            $0.version = "2.0"
        }
        #expect(try await central.run(endpoint) == 2)
    }

    @Test("a call outlives the view that wanted it, if it was started for that")
    func outlives() async throws {
        network.on(.get, "/x", .json("1").after(.seconds(2)).times(2))
        let central = central()
        let view = Task { await central.start(endpoint).value }
        let bound = Task { await failure { () async throws(ServiceError) in try await central.run(endpoint) } }
        await clock.sleepers(atLeast: 2)
        view.cancel()
        bound.cancel()
        #expect(await bound.value == .cancelled)
        await clock.advance(by: .seconds(2))
        #expect(await view.value == .success(1))
    }

    @Test("a call that was cancelled is no failure to alert anybody of")
    func cancelledIsNoFailure() async throws {
        network.on(.get, "/x", .json("1").after(.seconds(2)), .status(503))
        let central = central()
        var failures = central.failures.makeAsyncIterator()
        let call = Task { await failure { () async throws(ServiceError) in try await central.run(endpoint) } }
        await clock.sleepers(atLeast: 1)
        call.cancel()
        #expect(await call.value == .cancelled)
        _ = await failure { () async throws(ServiceError) in try await central.run(endpoint) }
        #expect(await failures.next()?.status == 503)
    }

    @Test("the indicator is shown around calls, whatever is changed during them")
    func activity() async throws {
        network.on(.get, "/x", .json("1").after(.seconds(1)).times(2))
        let central = central()
        try await clock.run {
            let indicators = (0..<2).map { _ in
                Task(executorPreference: clock.executor) {
                    await central.activity.reduce(into: []) { $0.append($1) }
                }
            }
            try await clock.sleep(for: .seconds(1))
            async let first = central.run(endpoint)
            try await clock.sleep(for: .milliseconds(500))
            await central.change { $0.device = .tablet }
            async let second = central.run(endpoint)
            _ = try await (first, second)
            try await clock.sleep(for: .seconds(1))
            await central.shutdown()
            for indicator in indicators { #expect(await indicator.value == [0, 1, 2, 1, 0]) }
        }
    }

    @Test("fewer than five requests go out in any second, after a change of the settings too")
    func rate() async throws {
        network.on(.get, "/x?version=1.0&device_type=phone", .json("1").times(4))
        network.on(.get, "/x?version=1.0&device_type=tablet", .json("1").times(4))
        let central = central()
        try await clock.run {
            let start = clock.now
            for device in [Central.Settings.Device.phone, .tablet] {
                await central.change { $0.device = device }
                try await withThrowingTaskGroup(of: Int.self) { group in
                    for _ in 0..<4 { group.addTask { try await central.run(endpoint) } }
                    for try await _ in group {}
                }
            }
            #expect(start.duration(to: clock.now) >= .seconds(1))
        }
        let sent = network.sent.map(\.at)
        #expect(sent.count == 8)
        for index in 4..<8 { #expect(sent[index - 4].duration(to: sent[index]) >= .seconds(1)) }
    }
}
