import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Synchronization
import Testing

/// Sends notes in tasks of their own, which end with the client.
struct Uploads {
    let client: APIClient

    func start(_ note: String) {
        Task { [client] in
            // `client.diagnostics` reports a failure.
            _ = try? await client.run(.post("notes", body: .json(["text": note])))
        }
    }
}

/// A clock of one's own, whose alarms are tasks that sleep in real time.
private struct TaskTime: TimeSource {
    var now: Instant { SystemTime.system.now }
    var date: Date { Date() }
    var executor: (any TaskExecutor)? { nil }

    func random() -> UInt64 { .random(in: .min ... .max) }

    func schedule(
        at instant: Instant, for purpose: Alarm.Purpose, _ action: @escaping @Sendable () -> Void
    ) -> Alarm {
        let task = Task {
            try await Task.sleep(for: now.duration(to: instant))
            action()
        }
        return Alarm { task.cancel() }
    }
}

@Suite("Cookbook: lists, reliability and concurrency")
struct CookbookCallSamples {
    private let network = scripted()

    private func scriptFilms(pages: Int) {
        for page in 1...pages {
            let films = [2 * page - 1, 2 * page].map { #"{"id": \#($0), "title": "\#($0)"}"# }.joined(separator: ",")
            network.on(.get, "/popular?page=\(page)", .json(#"{"results": [\#(films)], "totalPages": 3}"#))
        }
    }

    @Test("a whole list, and the beginning of one")
    func lists() async throws {
        let client = testClient(network)
        scriptFilms(pages: 3)
        #expect(try await all(client).map(\.id) == [1, 2, 3, 4, 5, 6])
        scriptFilms(pages: 2)
        #expect(try await three(client).map(\.id) == [1, 2, 3])
        #expect(network.sent.count == 5)
    }

    private func all(_ client: APIClient) async throws -> [Film] {
        var films: [Film] = []
        for try await film in client.items(of: .popular, in: \.results, by: .number("page", total: \.totalPages)) {
            films.append(film)
        }
        return films
    }

    private func three(_ client: APIClient) async throws -> [Film] {
        var films: [Film] = []
        for try await film in client.items(of: .popular, in: \.results, by: .number("page", total: \.totalPages)) {
            films.append(film)
            if films.count == 3 { break }
        }
        return films
    }

    @Test("a POST with a key is retried")
    func key() async throws {
        network.on(.post, "/orders", .status(503), .status(204))
        let clock = TestClock()
        let client = testClient(network, clock)
        try await clock.run {
            try await client.run(.post("orders", body: .json(["item": 7])).idempotencyKey(.unique))
        }
        #expect(network.sent.count == 2)
    }

    @Test("policies, a deadline and a wait for the network")
    func rules() async throws {
        network.on(.get, "/friends", .json("[]"))
        let patient: Endpoint<[User]> = .friends.retry(RetryPolicy(attempts: 5, statuses: [503, 520]))
        let once: Endpoint<[User]> = .friends.retry(.never)
        #expect(patient.options.retry?.attempts == 5 && once.options.retry?.attempts == 1)
        #expect(waiting().configuration.offline == .wait(upTo: .seconds(30)))
        let client = testClient(network)
        let friends = try await client.run(.friends.deadline(.seconds(2)))
        #expect(friends.isEmpty)
    }

    private func waiting() -> APIClient {
        let client = APIClient("https://api.example.com") {
            $0.offline = .wait(upTo: .seconds(30))
        }
        return client
    }

    @Test("several calls at once")
    func together() async throws {
        network.on(.get, "/me", .json(#"{"id": 7, "name": "Ann"}"#))
        network.on(.get, "/friends", .json("[]"))
        let client = testClient(network)
        async let me: User = client.run(.get("me"))
        async let friends = client.run(.friends)
        let both = try await (me, friends)
        #expect(both.0.name == "Ann" && both.1.isEmpty)
    }

    @Test("an observable model shows friends, then an error")
    func model() async {
        network.on(.get, "/friends", .json(#"[{"id": 1, "name": "Ann"}]"#), .status(404))
        let model = await FriendsModel(client: testClient(network))
        await model.load()
        #expect(await model.friends.map(\.name) == ["Ann"])
        await model.load()
        #expect(await model.message == ServiceError.rejected(Rejection(status: 404)).localizedDescription)
        #expect(await model.isLoading == false)
    }

    @Test("a call outlives the one who wanted it")
    func owned() async {
        network.on(.post, "/notes", .status(204))
        let uploads = Uploads(client: testClient(network))
        uploads.start("remember")
        await network.sent(atLeast: 1)
        #expect(network.sent.first?.body == Data(#"{"text":"remember"}"#.utf8))
    }

    @Test("an alarm of one's own fires, or is taken back")
    func alarm() async {
        let fired = Mutex(0)
        let time = TaskTime()
        let late = time.schedule(at: time.now.advanced(by: .seconds(3600)), for: .watch) { fired.withLock { $0 += 1 } }
        late.cancel()
        await withCheckedContinuation { continuation in
            _ = time.schedule(at: time.now, for: .sleeper) { continuation.resume() }
        }
        #expect(fired.withLock { $0 } == 0)
    }

    @Test("a retry is tested without waiting")
    func retry() async throws {
        let network = ScriptedTransport()
        network.on(.get, "/friends", .status(503), .json("[]"))
        let clock = TestClock()
        let client = APIClient("https://api.test") {
            $0.transport = network
            $0.time = clock
        }
        let attempts = try await clock.run { try await client.reply(to: .friends).attempts }
        #expect(attempts == 2)
    }

    @Test("a body is expected")
    func expectedBody() async throws {
        network.on(.post, "/users", body: .json(["name": "Ann"]), .json(#"{"id": 8, "name": "Ann"}"#))
        try await testClient(network).run(.signUp("Ann"))
    }

    @Test("what was sent is looked at")
    func sent() async throws {
        network.on(.post, "/users", .json(#"{"id": 8, "name": "Ann"}"#))
        try await testClient(network).run(.signUp("Ann"))
        let sent = try #require(network.sent.first)
        #expect(sent.request.method == .post)
        #expect(sent.request.headers["Content-Type"] == "application/json")
        #expect(String(decoding: sent.body, as: UTF8.self) == #"{"name":"Ann"}"#)
    }
}
