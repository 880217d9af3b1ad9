import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("Calls without a network", .timeLimit(.minutes(10))) struct OfflineTests {
    private let clock = TestClock()
    private let network = ScriptedTransport()
    private let isOnline = Noted(false)

    private func client(_ rule: OfflineRule = .fail, _ configure: (inout Configuration) -> Void = { _ in }) -> APIClient
    {
        network.onAny { ScriptedReply.json("1").always }
        return testClient(network, clock) { [isOnline] in
            $0.connectivity = Connectivity { isOnline.value }
            $0.offline = rule
            configure(&$0)
        }
    }

    @Test("a call fails at once: nothing is sent, and no permit is taken")
    func failsAtOnce() async {
        let client = client { $0.rateLimit = .requests(2, per: .seconds(1)) }
        await clock.run {
            await #expect(throws: ServiceError.noInternetConnection) { let _: Int = try await client.run(.get("x")) }
        }
        #expect(clock.elapsed == .zero)
        #expect(network.sent.isEmpty)
        #expect(client.limiter.snapshot.available == 2)
    }

    @Test("a call that may wait continues within half a second of the network's return")
    func waits() async throws {
        let client = client(.wait(upTo: .seconds(30)))
        try await clock.run {
            async let answer: Int = client.run(.get("x"))
            try await clock.sleep(until: .ms(2200))
            isOnline.value = true
            #expect(try await answer == 1)
        }
        #expect(network.sent.map(\.at) == [.ms(2500)])
    }

    @Test("it waits as long as it may, to the millisecond, and then sends nothing", arguments: [0, 300, 500, 1700])
    func waitsUpTo(milliseconds: Int) async {
        let client = client(.wait(upTo: .milliseconds(milliseconds)))
        await clock.run {
            await #expect(throws: ServiceError.noInternetConnection) { let _: Int = try await client.run(.get("x")) }
        }
        #expect(clock.elapsed == .milliseconds(milliseconds))
        #expect(network.sent.isEmpty)
    }

    @Test("a network that is back at the last moment is used")
    func lastMoment() async throws {
        let client = client(.wait(upTo: .milliseconds(700)))
        try await clock.run {
            async let answer: Int = client.run(.get("x"))
            try await clock.sleep(until: .ms(600))
            isOnline.value = true
            #expect(try await answer == 1)
        }
        #expect(clock.elapsed == .milliseconds(700))
    }

    @Test("a negative wait is reported before anything is done")
    func negative() async {
        let client = client(.wait(upTo: .seconds(-1)))
        let error = await #expect(throws: ServiceError.self) { let _: Int = try await client.run(.get("x")) }
        #expect(error?.debugDescription.contains("negative wait") == true)
    }

    @Test(
        "the system's check is not asked for this machine itself, and a check of one's own is",
        arguments: ["127.0.0.1", "localhost", "[::1]", "127.9.9.9:8080"])
    func loopback(host: String) async throws {
        func local(_ connectivity: Connectivity) -> APIClient {
            client {
                $0.environment = ServerEnvironment(name: "local", baseURL: "http://\(host)")
                $0.connectivity = connectivity
            }
        }
        let answer: Int = try await local(Connectivity(coversLoopback: false) { false }).run(.get("x"))
        #expect(answer == 1)
        await #expect(throws: ServiceError.noInternetConnection) {
            let _: Int = try await local(Connectivity { false }).run(.get("x"))
        }
        #expect(network.sent.count == 1)
    }

    @Test("the check of the system, and what transports pass on of it, says nothing about this machine")
    func system() {
        #expect(!Connectivity.system.coversLoopback && Connectivity { false }.coversLoopback)
    }

    @Test("each attempt checks anew: a network that is lost ends the retries")
    func goesAway() async {
        isOnline.value = true
        let network = scripted()
        network.on(
            .get, "/x", times: 1,
            answering: { [isOnline] _ in
                isOnline.value = false
                return .status(503)
            })
        let client = testClient(network, clock) { [isOnline] in $0.connectivity = Connectivity { isOnline.value } }
        await clock.run {
            await #expect(throws: ServiceError.noInternetConnection) { let _: Int = try await client.run(.get("x")) }
        }
        #expect(network.sent.count == 1)
    }
}
