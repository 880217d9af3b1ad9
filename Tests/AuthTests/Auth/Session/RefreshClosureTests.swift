@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("What a refresh closure may do")
struct RefreshClosureTests {
    @Test("a call of the same client inside the closure is sent unsigned and does not wait for itself")
    func sameClient() async throws {
        let clock = TestClock()
        let network = scripted()
        network.on(
            .get, "/me",
            answering: { request in
                let isGood = request.headers["Authorization"] == "Bearer new"
                return .status(isGood ? 200 : 401, body: #""ann""#)
            })
        network.on(.post, "/token") { .json(#""new""#) }
        let later = Later()
        let tokens = TokenStore(time: clock) { _ in Token(accessToken: try await later.client().run(.post("token"))) }
        let client = testClient(network, clock) {
            $0.tokens = tokens
            $0.rateLimit = .requests(1, per: .seconds(1))
        }
        later.set(client)
        try await clock.runTest {
            await tokens.signIn(Token(accessToken: "old"))
            let names = try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<3 { group.addTask { try await client.run(.me) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(names == ["ann", "ann", "ann"])
        }
        let login = try #require(network.sent.first { $0.request.url.path == "/token" })
        #expect(login.request.headers["Authorization"] == nil)
    }

    @Test("T5: cancelAll() ends the calls that wait for a refresh, but not the call that the refresh makes")
    func cancelAll() async throws {
        let (clock, network, later) = (TestClock(), scripted(), Later())
        network.on(.post, "/token", .json(#""new""#).after(.seconds(2)))
        let tokens = TokenStore(time: clock) { _ in Token(accessToken: try await later.client().run(.post("token"))) }
        let client = testClient(network, clock) { $0.tokens = tokens }
        later.set(client)
        try await clock.runTest {
            await tokens.signIn(Token(accessToken: "old", expiry: clock.date))
            let call = Task(executorPreference: clock.executor) {
                await failure { () async throws(ServiceError) in try await client.run(.me) }
            }
            try await clock.sleep(for: .seconds(1))
            client.cancelAll()
            #expect(await call.value == .cancelled)
            try await clock.sleep(for: .seconds(2))
            #expect(try await tokens.token().accessToken == "new")
        }
        try network.verify()
    }

    @Test("a task that outlives the closure is signed like any other once the refresh is over")
    func leftBehind() async throws {
        let clock = TestClock()
        let network = scripted()
        network.on(.get, "/me") { ScriptedReply.json(#""ann""#).times(2) }
        let later = Later()
        let leftBehind = Lock<Task<String, any Error>?>(nil)
        let tokens = TokenStore(time: clock) { _ in
            let task = Task(executorPreference: clock.executor) {
                try await clock.sleep(for: .seconds(5))
                return try await later.client().run(.me)
            }
            leftBehind.withLock { $0 = task }
            return Token(accessToken: "new")
        }
        let client = testClient(network, clock) { $0.tokens = tokens }
        later.set(client)
        try await clock.runTest {
            await tokens.signIn(Token(accessToken: "old", expiry: clock.date))
            _ = try await client.run(.me)
            _ = try await leftBehind.withLock { $0 }?.value
        }
        #expect(network.sent.map { $0.request.headers["Authorization"] } == ["Bearer new", "Bearer new"])
    }

    @Test("T8: a 401 of a login call inside the closure ends the session", arguments: [400, 401])
    func refusedLogin(status: Int) async throws {
        let clock = TestClock()
        let network = scripted()
        network.on(.get, "/me") { .status(401) }
        network.on(.post, "/token") {
            .json(#"{"error":"invalid_grant","error_description":"gone"}"#, status: status)
        }
        let login = testClient(network, clock)
        let tokens = TokenStore(time: clock) { _ in Token(accessToken: try await login.run(.post("token"))) }
        let client = testClient(network, clock) { $0.tokens = tokens }
        try await clock.runTest {
            await tokens.signIn(Token(accessToken: "old"))
            let error = await failure { () async throws(ServiceError) in try await client.run(.me) }
            #expect(error == .sessionExpired(SessionExpiry(.refreshRefused, message: "gone", status: status)))
        }
    }

    @Test(
        "signing out or in inside the closure, or in one of its tasks, does not wait for the refresh that it is in",
        arguments: [true, false], [true, false])
    func changesSession(signsIn: Bool, inATask: Bool) async throws {
        let clock = TestClock()
        let disk = MemoryTokenPersistence()
        let own = Lock<TokenStore?>(nil)
        let tokens = TokenStore(persistence: disk, time: clock) { _ in
            let store = own.withLock { $0 }
            let change = { @Sendable in
                if signsIn { await store?.signIn(Token(accessToken: "bo")) } else { await store?.signOut() }
            }
            // The end of its session cancels the refresh, but no task that it has started.
            if inATask {
                await Task(executorPreference: clock.executor) { await change() }.value
            } else {
                await change()
            }
            throw ServiceError.refused
        }
        own.withLock { $0 = tokens }
        try await clock.runTest {
            let old = Token(accessToken: "ann")
            await tokens.signIn(old)
            let waiter = Task(executorPreference: clock.executor) {
                await failure { () async throws(ServiceError) in try await tokens.replacement(for: old) }
            }
            #expect(await ends(waiter, on: clock)??.reason == (signsIn ? .otherSession : .signedOut))
            try await clock.sleep(for: .seconds(1))
            #expect(disk.load()?.token.accessToken == (signsIn ? "bo" : nil))
            let next = Task(executorPreference: clock.executor) { await tokens.signIn(Token(accessToken: "cy")) }
            #expect(await ends(next, on: clock) != nil, "the store is stuck")
            #expect(disk.load()?.token.accessToken == "cy")
        }
        own.withLock { $0 = nil }
    }

    @Test("asking the store itself for a fresh token inside the closure is an error, and no deadlock", arguments: 0..<2)
    func asksItself(way: Int) async throws {
        let clock = TestClock()
        let own = Lock<TokenStore?>(nil)
        let tokens = TokenStore(time: clock) { old in
            let store = try #require(own.withLock { $0 })
            return way == 0 ? try await store.replacement(for: old) : try await store.token()
        }
        own.withLock { $0 = tokens }
        try await clock.runTest {
            let old = Token(accessToken: "ann", expiry: clock.date.addingTimeInterval(way == 0 ? 600 : 0))
            await tokens.signIn(old)
            let waiter = Task(executorPreference: clock.executor) {
                await failure { () async throws(ServiceError) in try await tokens.replacement(for: old) }
            }
            guard case .invalidRequest(let invalid) = await ends(waiter, on: clock).flatMap({ $0 }) else {
                Issue.record("it waits for itself")
                return
            }
            #expect(invalid.subject == .configuration)
        }
        own.withLock { $0 = nil }
    }
}

/// Returns a task's value if it ends within that time: a test that would hang fails instead.
func ends<Value: Sendable>(
    _ task: Task<Value, Never>, within limit: Duration = .seconds(60), on clock: TestClock
) async -> Value? {
    let promise = Promise<Value, ServiceError>()
    Task(executorPreference: clock.executor) { promise.complete(.success(await task.value)) }
    try? await clock.sleep(for: limit)
    return try? promise.outcome?.get()
}

/// A client that is created after the store whose closure uses it.
final class Later: Sendable {
    private let made = Lock<APIClient?>(nil)

    func set(_ client: APIClient) { made.withLock { $0 = client } }

    func client() throws -> APIClient { try #require(made.withLock { $0 }) }
}
