@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("A transmission that several calls share, or none", .timeLimit(.minutes(10))) struct SharedTransmissionTests {
    private let clock = TestClock()
    private let network = scripted()
    private let endpoint = Endpoint<Int>.get("x")

    private func call(of client: APIClient, deadline: Duration? = nil) throws -> Call {
        try client.begin((deadline.map(endpoint.deadline) ?? endpoint).untyped, delivery: .whole)
    }

    private func status(
        of shared: SharedTransmission, for call: Call, of client: APIClient
    ) async -> Result<Int?, ServiceError> {
        let outcome = await Result { () async throws(ServiceError) -> Int? in
            let own = call.beginTransmission()
            return shared.join() ? try await shared.response(inPlaceOf: own).status : nil
        }
        client.calls.end(call, reporting: .succeeded(attempts: call.attempts, after: .zero))
        return outcome
    }

    @Test("two calls share one: it is sent once, and both have its response")
    func two() async throws {
        network.on(.get, "/x") { ScriptedReply.json("1").after(.seconds(5)) }
        let client = testClient(network, clock)
        try await clock.run {
            let shared = try client.startTransmission(of: endpoint, finishesAlone: false)
            let (first, second) = (try call(of: client), try call(of: client))
            async let one = status(of: shared, for: first, of: client)
            try await clock.sleep(for: .seconds(2))
            async let other = status(of: shared, for: second, of: client)
            #expect(await [one, other] == [.success(200), .success(200)])
            #expect(first.attempts == 1 && second.attempts == 1)
            #expect(clock.elapsed == .seconds(5))
        }
        try network.verify()
    }

    @Test("one that leaves at its deadline does not disturb the other; the deadline is that of the call alone")
    func oneLeaves() async throws {
        network.on(.get, "/x") { ScriptedReply.json("1").after(.seconds(5)) }
        let client = testClient(network, clock)
        try await clock.run {
            let shared = try client.startTransmission(of: endpoint.deadline(.seconds(1)), finishesAlone: false)
            let (hasty, patient) = (try call(of: client, deadline: .seconds(3)), try call(of: client))
            async let one = status(of: shared, for: hasty, of: client)
            async let other = status(of: shared, for: patient, of: client)
            let timeout = Timeout(.deadline, limit: .seconds(3), phase: .waitingForResponse)
            #expect(await one == .failure(.timedOut(timeout)))
            #expect(clock.elapsed == .seconds(3))
            #expect(await other == .success(200))
        }
    }

    @Test("when the last has left, the send is cancelled, and no other call can join")
    func allLeave() async throws {
        network.on(.get, "/x") { ScriptedReply.json("1").after(.seconds(5)) }
        let client = testClient(network, clock)
        try await clock.run {
            let shared = try client.startTransmission(of: endpoint, finishesAlone: false)
            let (first, second) = (try call(of: client), try call(of: client))
            async let one = status(of: shared, for: first, of: client)
            async let other = status(of: shared, for: second, of: client)
            try await clock.sleep(for: .seconds(1))
            client.cancelAll()
            #expect(await [one, other] == [.failure(.cancelled), .failure(.cancelled)])
            await shared.ended()
            #expect(clock.elapsed == .seconds(1))
            #expect(await status(of: shared, for: try call(of: client), of: client) == .success(nil))
        }
    }

    @Test("without a call it finishes, and counts not among the calls")
    func alone() async throws {
        network.on(.get, "/x") { ScriptedReply.json("1").after(.seconds(5)) }
        let client = testClient(network, clock)
        try await clock.run {
            let shared = try client.startTransmission(of: endpoint, finishesAlone: true)
            var activity = client.activity.makeAsyncIterator()
            #expect(await activity.next() == 0)
            client.cancelAll()
            await shared.ended()
            #expect(clock.elapsed == .seconds(5))
        }
        try network.verify()
    }

    @Test("without a call it ends with the client's shutdown, which waits for that; afterwards none begins")
    func shutdown() async throws {
        network.on(.get, "/x") { ScriptedReply.json("1").after(.seconds(50)) }
        let client = testClient(network, clock)
        try await clock.run {
            let shared = try client.startTransmission(of: endpoint, finishesAlone: true)
            try await clock.sleep(for: .seconds(1))
            await client.shutdown()
            #expect(clock.elapsed == .seconds(1))
            await shared.ended()
            #expect(clock.alarmCount == 0 && clock.sleepers == 0)
            let error = await failure { () async throws(ServiceError) in
                _ = try client.startTransmission(of: endpoint, finishesAlone: true)
            }
            guard case .invalidRequest(let request) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(request.subject == .clientShutDown)
        }
    }
}

extension APIClient {
    /// Starts a transmission that calls can join. It has the rules of the endpoint, but no deadline.
    fileprivate nonisolated func startTransmission(
        of endpoint: Endpoint<Int>, finishesAlone: Bool
    ) throws(ServiceError) -> SharedTransmission {
        let endpoint = endpoint.untyped
        let call = Call(settings(for: endpoint, rules: rules(for: endpoint.ownOptions)))
        let transmission = Transmission(CallSettings(sharedBy: call.settings))
        let shared = SharedTransmission(transmission, finishesAlone: finishesAlone)
        try calls.begin(shared)
        shared.start(for: calls) { () async throws(ServiceError) in
            try await self.send(try await self.request(for: endpoint, as: call), in: shared.transmission)
        }
        return shared
    }
}
