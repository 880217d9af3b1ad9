import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("From one server to another, and back", .timeLimit(.minutes(10))) struct ServerFailoverTests: ServersScene {
    let clock = TestClock()
    let network = scripted()

    @Test("B3: the next attempt goes to the next server at once, costs no quota, and counts as an attempt")
    func failover() async throws {
        network.on(.get, "https://a.test/*") { ScriptedReply.failure(.refused).always }
        network.on(.get, "https://b.test/*") { ScriptedReply.json("1").always }
        let client = client { $0.servers.choice = .inOrder(returningAfter: .zero) }
        try await clock.run {
            let reply = try await client.reply(to: call)
            #expect(reply.attempts == 2 && reply.duration == .zero)
            // One attempt is all that this call has.
            try await clock.sleep(until: .ms(15_000))
            #expect(try await client.reply(to: call.retry(.never)).attempts == 1)
        }
        #expect(hosts == ["a", "b", "b"])
        #expect(network.sent.map(\.request.url.path) == ["/v1/x", "/x", "/x"])
    }

    @Test("B3: far more calls go on than the quota of retries would pay for")
    func quota() async throws {
        network.on(.get, "https://a.test/*") { ScriptedReply.status(502).after(.milliseconds(5)).always }
        network.on(.get, "https://b.test/*") { ScriptedReply.json("1").always }
        let client = client()
        try await clock.run {
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<200 { group.addTask { try await client.run(call) } }
                try await group.waitForAll()
            }
        }
        #expect(hosts.count { $0 == "a" } == 200)
    }

    @Test("B3: an unsafe request goes to another server only if it was certainly not sent")
    func unsafe() async throws {
        network.on(.post, "https://a.test/*") {
            ScriptedReply.failure(.refused)
            ScriptedReply.failure(.reset)
        }
        network.on(.post, "https://b.test/*") { ScriptedReply.json("1") }
        let client = client { $0.servers.choice = .inOrder(returningAfter: .zero) }
        try await clock.run {
            #expect(try await client.run(Endpoint<Int>.post("x")) == 1)
            try await clock.sleep(until: .ms(20_000))
            // The first is tried again only by what can be repeated.
            network.on(.get, "https://a.test/*") { ScriptedReply.json("1") }
            try await run(1, client)
            let error = try await failure(of: .post("x"), client)
            #expect(error.mayHaveReachedServer)
        }
        #expect(hosts == ["a", "b", "a", "a"])
    }

    @Test("B3: a key that the servers do not share keeps the request at its server", arguments: [false, true])
    func keys(areShared: Bool) async throws {
        network.on(.post, "https://a.test/*") { ScriptedReply.failure(.reset).times(areShared ? 1 : 2) }
        network.on(.post, "https://a.test/*") { ScriptedReply.json("1").always }
        network.on(.post, "https://b.test/*") { ScriptedReply.json("2").always }
        let client = client { $0.servers.shareKeys = areShared }
        try await clock.run {
            let value = try await client.run(Endpoint<Int>.post("x").idempotencyKey(.unique))
            #expect(value == (areShared ? 2 : 1))
        }
        #expect(hosts == (areShared ? ["a", "b"] : ["a", "a", "a"]))
    }

    @Test("B3: what a server may have received stays there, also if the client's first one is back")
    func bound() async throws {
        network.on(.get, "https://a.test/*") { ScriptedReply.failure(.refused) }
        network.on(.get, "https://b.test/*") { ScriptedReply.json("1").always }
        network.on(.post, "https://b.test/*") {
            ScriptedReply.failure(.reset).times(2)
            ScriptedReply.json("2")
        }
        network.on(.put, "https://b.test/*") {
            ScriptedReply.failure(.reset)
            ScriptedReply.json("3")
        }
        let client = client()
        try await clock.run {
            try await run(1, client)
            #expect(try await client.run(Endpoint<Int>.post("x").idempotencyKey(.unique)) == 2)
            #expect(try await client.run(Endpoint<Int>.put("x")) == 3)
        }
        #expect(hosts == ["a", "b", "b", "b", "b", "b", "b"])
    }

    @Test("B3: after a server has failed, a failure of another kind is not repeated")
    func stale() async throws {
        network.on(.get, "https://a.test/*") { ScriptedReply.failure(.refused) }
        let retries = Noted(0)
        let client = client { [network] in
            $0.connectivity = Connectivity { network.sent.isEmpty }
            $0.observe = { event in if case .retrying = event.kind { retries.update { $0 += 1 } } }
        }
        try await clock.run {
            let error = try await failure(of: call, client)
            #expect(error == .noInternetConnection && retries.value == 1)
        }
    }

    @Test("B4: a client whose calls all change something returns as well, after twice the time")
    func unsafeOnly() async throws {
        network.on(.post, "https://a.test/*") {
            ScriptedReply.failure(.refused)
            ScriptedReply.json("1").always
        }
        network.on(.post, "https://b.test/*") { ScriptedReply.json("2").always }
        let client = client()
        try await clock.run {
            var values: [Int] = []
            for second in 0..<14 {
                try await clock.sleep(until: .ms(Int64(second) * 10_000))
                values.append(try await client.run(Endpoint<Int>.post("x")))
            }
            #expect(values == Array(repeating: 2, count: 12) + [1, 1])
        }
    }

    @Test("B4: one request tries the first server after a while, and the others follow when it has answered")
    func wayBack() async throws {
        network.on(.get, "https://a.test/*") { ScriptedReply.failure(.refused) }
        network.on(.get, "https://b.test/*") { ScriptedReply.json("1").always }
        let client = client { $0.servers.choice = .inOrder(returningAfter: .seconds(60)) }
        try await clock.run {
            try await run(6, client, every: .seconds(10))
            #expect(hosts == ["a", "b", "b", "b", "b", "b", "b"])
            #expect(clock.now == .ms(60_000))
            network.on(.get, "https://a.test/*") { ScriptedReply.json("1").after(.seconds(1)).always }
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<20 { group.addTask { try await client.run(call) } }
                try await group.waitForAll()
            }
            #expect(hosts.count { $0 == "a" } == 2)
            try await run(3, client)
        }
        #expect(hosts.suffix(3) == ["a", "a", "a"])
    }

    @Test(
        "B4: a try that fails costs its call nothing but an attempt; a try that is canceled leaves it to the next call")
    func tries() async throws {
        network.on(.get, "https://a.test/*") { ScriptedReply.failure(.refused).times(2) }
        network.on(.get, "https://a.test/*") { ScriptedReply.silence }
        network.on(.get, "https://a.test/*") { ScriptedReply.json("7") }
        network.on(.get, "https://b.test/*") { ScriptedReply.json("1").always }
        let client = client { $0.servers.choice = .inOrder(returningAfter: .zero) }
        try await clock.run {
            try await run(1, client)
            try await clock.sleep(until: .ms(10_000))
            #expect(try await client.reply(to: call).attempts == 2)
            // The second pause is twice as long.
            try await clock.sleep(until: .ms(20_000))
            try await run(1, client)
            #expect(hosts == ["a", "b", "a", "b", "b"])
            try await clock.sleep(until: .ms(30_000))
            let task = Task { try await client.run(call) }
            await network.sent(atLeast: 6)
            #expect(client.servers.snapshot[0].state == .tried)
            task.cancel()
            _ = try? await task.value
            #expect(try await client.run(call) == 7)
        }
    }

    @Test("B4: calls that wait for permits when their server fails go to the next one")
    func waiting() async throws {
        network.on(.get, "https://a.test/*") { ScriptedReply.silence }
        network.on(.get, "https://b.test/*") { ScriptedReply.json("1").always }
        let client = client {
            $0.servers.choice = .inOrder(returningAfter: .seconds(600))
            $0.rateLimit = .requests(1, per: .seconds(10))
            $0.timeout = .seconds(5)
        }
        try await clock.run {
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<10 { group.addTask { try await client.run(call) } }
                try await group.waitForAll()
            }
        }
        #expect(hosts == ["a"] + Array(repeating: "b", count: 10))
    }

    @Test(
        "B4: the least busy server is asked, and one after the other", arguments: [ServerChoice.leastBusy, .roundRobin])
    func parted(choice: ServerChoice) async throws {
        network.on(.get, "https://a.test/*") { ScriptedReply.json("1").after(.seconds(1)).always }
        network.on(.get, "https://b.test/*") { ScriptedReply.json("1").after(.seconds(9)).always }
        let client = client { $0.servers.choice = choice }
        try await clock.run {
            try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<9 {
                    group.addTask { try await client.run(call) }
                    try await clock.sleep(until: .ms(Int64(number) * 1100 + 1100))
                }
                try await group.waitForAll()
            }
        }
        #expect(hosts.count { $0 == "a" } == (choice == .roundRobin ? 5 : 8))
    }
}
