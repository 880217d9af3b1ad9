import Errand
import ErrandFleet
import ErrandSimulation
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("One refresh for a fleet", .timeLimit(.minutes(10))) struct SharedRefreshTests {
    @Test("F6: twenty nodes with an expired token refresh it once", arguments: [0, 1, 2, 3] as [UInt64])
    func once(seed: UInt64) async throws {
        let clock = TestClock(seed: seed)
        let scene = try SessionScene(time: clock)
        let tokens = try await clock.run { () async throws -> [Result<String, ServiceError>] in
            try await scene.seed()
            return await withTaskGroup { group in
                for _ in 0..<20 {
                    let node = scene.node()
                    group.addTask { await SessionScene.replacement(in: node) }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
        }
        #expect(tokens == Array(repeating: .success("access.1"), count: 20))
        #expect(scene.server.refreshes == 1)
        #expect(clock.elapsed < .seconds(5))
    }

    @Test("F13: a new token is used by the other nodes although none of them asks")
    func news() async throws {
        let clock = TestClock()
        let scene = try SessionScene(time: clock)
        let seen = try await clock.run { () async throws -> [String] in
            try await scene.seed()
            let (one, other) = (scene.node(), scene.node())
            var events = other.events.makeAsyncIterator()
            var seen = [try await other.token().accessToken]
            _ = await SessionScene.replacement(in: one)
            while let event = await events.next() { if case .refreshed = event { break } }
            seen.append(try await other.token().accessToken)
            return seen
        }
        #expect(seen == ["access.0", "access.1"])
        #expect(clock.elapsed < .seconds(1))
    }

    @Test("F13: a node that has missed the news finds the new token when it needs one")
    func missedNews() async throws {
        let clock = TestClock()
        let scene = try SessionScene(time: clock)
        let token = try await clock.run { () async throws -> Result<String, ServiceError> in
            try await scene.seed()
            let (one, other) = (scene.node(), scene.node(in: FaultyStore(scene.store, isMute: true)))
            _ = try await other.token()
            _ = await SessionScene.replacement(in: one)
            return await SessionScene.replacement(in: other)
        }
        #expect(token == .success("access.1"))
        #expect(scene.server.refreshes == 1)
    }

    @Test("F13, T15: a call that is refused after the news was missed is repeated with the new token, unrefreshed")
    func missedNewsAndRefused() async throws {
        let clock = TestClock()
        let scene = try SessionScene(time: clock)
        let other = scene.node(in: FaultyStore(scene.store, isMute: true))
        let client = APIClient("https://api.test") {
            $0.transport = StrictTransport(token: "access.1")
            $0.tokens = other
            $0.time = clock
            $0.rateLimit = .unlimited
        }
        let answer = try await clock.run { () async throws -> Data in
            try await scene.seed()
            _ = try await other.token()
            _ = await SessionScene.replacement(in: scene.node())
            return try await client.run(Endpoint<Data>.get("me"))
        }
        #expect(answer == Data("me".utf8))
        #expect(scene.server.refreshes == 1 && scene.server.refusals == 0)
    }

    @Test("F5: a node whose watch is silent hears of a new token by a read beside it")
    func silentWatch() async throws {
        let clock = TestClock()
        let scene = try SessionScene(time: clock)
        let waited = try await clock.run { () async throws -> Duration in
            try await scene.seed()
            let mute = scene.sessions(in: FaultyStore(scene.store, isMute: true))
            var changes = try #require(mute.changes()).makeAsyncIterator()
            // What is there when the watch begins.
            _ = await changes.next()
            let start = clock.now
            _ = await SessionScene.replacement(in: scene.node())
            _ = await changes.next()
            return start.duration(to: clock.now)
        }
        #expect(waited < .seconds(40))
    }

    @Test("F6: a refresh that ends while its mark is written leaves no mark")
    func canceledMark() async throws {
        let clock = TestClock()
        let scene = try SessionScene(time: clock)
        let gate = Gate(at: 4)
        let waited = try await clock.run { () async throws -> Duration in
            try await scene.seed()
            let sessions = scene.sessions(in: FaultyStore(scene.store, gate: gate))
            // A read is two steps, and the write of the mark is held after it was made.
            let task = Task(executorPreference: clock.executor) { try await sessions.exclusively { _ in } }
            while !gate.isHolding {
                try await clock.sleep(until: clock.now.advanced(by: .milliseconds(1)), in: StopScope<FleetStoreError>())
            }
            task.cancel()
            gate.open()
            _ = await task.result
            let start = clock.elapsed
            try await scene.sessions().exclusively { _ in }
            return clock.elapsed - start
        }
        #expect(waited == .zero)
    }

    /// What happens when a node stops at a step, and goes on later if `resumes`.
    private func stop(at step: Int, resumes: Bool) async throws -> (wasHeld: Bool, isSignedOut: Bool) {
        let clock = TestClock()
        let scene = try SessionScene(time: clock)
        let gate = Gate(at: step)
        let first = scene.node(in: FaultyStore(scene.store, gate: gate), gate: gate)
        let others = (0..<3).map { _ in scene.node() }
        // All nodes hold the same token before the first one replaces it.
        try await clock.run {
            try await scene.seed()
            for other in others { _ = try await other.token() }
        }
        let stopped = Task(executorPreference: clock.executor) { await SessionScene.replacement(in: first) }
        let results = try await clock.run { () async throws -> [Result<String, ServiceError>] in
            try await clock.sleep(until: clock.now.advanced(by: .seconds(1)), in: StopScope<FleetStoreError>())
            return await withTaskGroup { group in
                for other in others { group.addTask { await SessionScene.replacement(in: other) } }
                return await group.reduce(into: []) { $0.append($1) }
            }
        }
        let wasHeld = gate.isHolding
        if resumes {
            gate.open()
            try await clock.run {
                try await clock.sleep(until: clock.now.advanced(by: .seconds(100)), in: StopScope<FleetStoreError>())
            }
        }
        let isSignedOut = results.contains { if case .failure = $0 { true } else { false } }
        for result in results {
            switch result {
            case .success(let token): #expect(token == "access.1" && !isSignedOut, "step \(step)")
            case .failure(.sessionExpired): #expect(isSignedOut)
            case .failure(let error): Issue.record("step \(step): \(error)")
            }
        }
        // The family ends only where the token was spent and its successor is lost, by one refusal.
        #expect(scene.server.refusals <= 1, "step \(step)")
        if !isSignedOut { #expect(scene.server.refreshes == 1 && scene.server.refusals == 0, "step \(step)") }
        #expect(clock.elapsed < .seconds(resumes ? 240 : 140), "step \(step)")
        let saved = try await clock.run { try await scene.sessions().load()?.token.accessToken }
        #expect(saved == (isSignedOut ? nil : "access.1"), "step \(step)")
        gate.open()
        stopped.cancel()
        _ = await clock.run { await stopped.value }
        return (wasHeld, isSignedOut)
    }

    @Test(
        "F6: a node that is killed or stopped at any step leaves the session, or one clear sign-in",
        arguments: [false, true])
    func stopped(resumes: Bool) async throws {
        var outcomes: [(wasHeld: Bool, isSignedOut: Bool)] = []
        for step in 1...40 {
            let outcome = try await stop(at: step, resumes: resumes)
            outcomes.append(outcome)
            if !outcome.wasHeld { break }
        }
        // All steps of a refresh were tried; between the server's answer and the end of the save, the token is lost.
        #expect(outcomes.last?.wasHeld == false)
        #expect(outcomes.contains { $0.isSignedOut })
        #expect(outcomes.count { $0.isSignedOut } < outcomes.count / 2)
    }

    @Test("F6: a node waits one lifetime on its own clock for a mark that does not change")
    func takeover() async throws {
        let clock = TestClock()
        let scene = try SessionScene(time: clock)
        let (lossOfFirst, begins) = try await clock.run { () async throws -> (Duration?, Duration) in
            try await scene.seed()
            let held = Noted<SessionLock?>(nil)
            let loss = Noted<Duration?>(nil)
            let first = Task(executorPreference: clock.executor) {
                try await scene.sessions().exclusively { lock in
                    held.value = lock
                    while lock.loss == nil {
                        let next = clock.now.advanced(by: .milliseconds(100))
                        try? await clock.sleep(until: next, in: StopScope<FleetStoreError>())
                    }
                    loss.value = clock.elapsed
                    // It hangs, and does not remove its mark.
                    try? await clock.sleep(
                        until: clock.now.advanced(by: .seconds(1000)), in: StopScope<FleetStoreError>())
                }
            }
            while held.value == nil {
                try await clock.sleep(until: clock.now.advanced(by: .milliseconds(1)), in: StopScope<FleetStoreError>())
            }
            let start = clock.elapsed
            let begin = Noted(Duration.zero)
            try await scene.sessions().exclusively { _ in begin.value = clock.elapsed - start }
            first.cancel()
            return (loss.value, begin.value)
        }
        #expect(begins >= SessionScene.lifetime)
        #expect(begins < SessionScene.lifetime + .seconds(6))
        #expect(try #require(lossOfFirst) <= SessionScene.lifetime * 0.92)
    }

    @Test("F6: while the store cannot be reached, nothing is refreshed and nobody is signed out")
    func unreachable() async throws {
        let clock = TestClock()
        let scene = try SessionScene(time: clock)
        let store = FaultyStore(scene.store)
        let node = scene.node(in: store)
        let outcomes = try await clock.run { () async throws -> [Result<String, ServiceError>] in
            try await scene.seed()
            _ = try await node.token()
            store.cut()
            let failed = await SessionScene.replacement(in: node)
            let present = await Result { () async throws(ServiceError) in try await node.token().accessToken }
            store.cut(false)
            return [failed, present, await SessionScene.replacement(in: node)]
        }
        guard case .failure(.transport(let failure)) = outcomes[0] else {
            Issue.record("\(outcomes)")
            return
        }
        #expect(failure.kind == .storage)
        #expect(outcomes[1...] == [.success("access.0"), .success("access.1")])
        #expect(scene.server.refreshes == 1)
    }

    @Test("F6: a store that fails between the mark and the refresh keeps the token unspent")
    func lostStore() async throws {
        let clock = TestClock()
        let scene = try SessionScene(time: clock)
        let store = FaultyStore(scene.store)
        let node = scene.node(in: store)
        let (failed, spent, later) = try await clock.run {
            () async throws -> (Result<String, ServiceError>, Int, Result<String, ServiceError>) in
            try await scene.seed()
            _ = try await node.token()
            store.cutAfterNextWrite()
            let failed = await SessionScene.replacement(in: node)
            let spent = scene.server.refreshes + scene.server.refusals
            store.cut(false)
            return (failed, spent, await SessionScene.replacement(in: node))
        }
        guard case .failure(.transport(let failure)) = failed else {
            Issue.record("\(failed)")
            return
        }
        #expect(failure.kind == .storage)
        #expect(spent == 0)
        #expect(later == .success("access.1"))
    }

    @Test("F6: a mark whose answer was lost keeps no other node longer than the lifetime, and its own not at all")
    func lostMark() async throws {
        let clock = TestClock()
        let scene = try SessionScene(time: clock)
        let store = FaultyStore(scene.store)
        let sessions = scene.sessions(in: store)
        let (own, other) = try await clock.run { () async throws -> (Duration, Duration) in
            try await scene.seed()
            store.failWrites(.loseAnswer)
            #expect(await sessionProblem { try await sessions.exclusively { _ in } } == .unreachable)
            let start = clock.elapsed
            try await sessions.exclusively { _ in }
            let own = clock.elapsed - start
            store.failWrites(.loseAnswer)
            _ = await sessionProblem { try await sessions.exclusively { _ in } }
            try await scene.sessions().exclusively { _ in }
            return (own, clock.elapsed - start - own)
        }
        #expect(own == .zero)
        #expect(other >= SessionScene.lifetime && other < SessionScene.lifetime + .seconds(6))
    }
}

/// An API that accepts one access token.
private struct StrictTransport: Transport {
    let token: String

    func send(_ request: HTTPRequest, context: TransportContext) async throws -> HTTPResponse {
        guard request.headers["Authorization"] == "Bearer \(token)" else { return HTTPResponse(status: 401) }
        return HTTPResponse(status: 200, body: .bytes(Data("me".utf8)))
    }

    func shutdown() async {}
    var connectivity: Connectivity { .always }
}
