@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("The end of a program during a refresh", .timeLimit(.minutes(10)))
struct ShutdownTests {
    private let clock = TestClock()
    private let network = scripted()
    private let disk: SlowPersistence
    private let login: APIClient
    private let old: Token

    init() {
        disk = SlowPersistence(clock, takes: .seconds(1))
        login = testClient(network, clock) { $0.timeout = .seconds(600) }
        old = Token(accessToken: "old", refreshToken: "r", expiry: clock.date)
    }

    /// Returns a store whose refresh makes one call, or two.
    private func store(calls: Int = 1, timeout: Duration = .seconds(60)) -> TokenStore {
        TokenStore(persistence: disk, refreshTimeout: timeout, time: clock) { [login] _ in
            var access = ""
            for _ in 0..<calls { access = try await login.run(.post("token")) }
            return Token(accessToken: access, refreshToken: "rotated")
        }
    }

    private func calling(_ client: APIClient) -> Task<ServiceError?, Never> {
        Task(executorPreference: clock.executor) {
            await failure { () async throws(ServiceError) in try await client.run(.me) }
        }
    }

    @Test(
        "T18: `shutdown()` cancels the calls, and waits for those of a refresh, whose token is saved",
        arguments: [1, 2], [true, false])
    func refreshFinishes(calls: Int, isOneClient: Bool) async throws {
        let later = Later()
        network.on(.post, "/token", .json(#""new""#).after(.seconds(3)).times(calls))
        let tokens = TokenStore(persistence: disk, time: clock) { _ in
            var access = ""
            for _ in 0..<calls { access = try await later.client().run(.post("token")) }
            return Token(accessToken: access, refreshToken: "rotated")
        }
        let client = testClient(network, clock) { $0.tokens = tokens }
        later.set(isOneClient ? client : login)
        try await clock.runTest {
            await tokens.signIn(old)
            let call = calling(client)
            try await clock.sleep(for: .seconds(3))
            #expect(network.sent.count == 1, "the session was read twice; then the refresh has begun")
            let start = clock.now
            await client.shutdown()
            if !isOneClient {
                #expect(clock.now == start, "this client has no part in the refresh")
                await login.shutdown()
            }
            #expect(await call.value == .cancelled)
            #expect(start.duration(to: clock.now) == .seconds(3 * calls - 1))
            #expect(network.sent.count == calls)
            await tokens.waitUntilSaved()
            #expect(disk.saved.load()?.token.refreshToken == "rotated")
            #expect(start.duration(to: clock.now) == .seconds(3 * calls))
            let closed = isOneClient ? client : login
            let error = await failure { () async throws(ServiceError) in try await closed.run(.me) }
            #expect(error?.invalidSubject == .clientShutDown)
        }
    }

    @Test("T18: after `shutdown()` no refresh begins")
    func noneBegins() async throws {
        let tokens = store()
        let client = testClient(network, clock) { $0.tokens = tokens }
        try await clock.runTest {
            await tokens.signIn(old)
            await login.shutdown()
            #expect(await calling(client).value?.invalidSubject == .clientShutDown)
        }
        #expect(network.sent.isEmpty)
    }

    @Test("T17, T18: `shutdown()` waits for a refresh no longer than its limit")
    func limit() async throws {
        network.on(.post, "/token", .silence)
        let tokens = store(timeout: .seconds(20))
        let client = testClient(network, clock) { $0.tokens = tokens }
        try await clock.runTest {
            await tokens.signIn(old)
            let call = calling(client)
            try await clock.sleep(for: .seconds(5))
            let end = Task(executorPreference: clock.executor) {
                await login.shutdown()
                return clock.elapsed
            }
            // Signing in took a second, before the refresh began.
            #expect(await ends(end, on: clock) == .seconds(21))
            #expect(await call.value != nil)
        }
    }

    @Test("T18: a call that the closure has left behind is cancelled when the refresh is over")
    func leftBehind() async throws {
        network.on(.post, "/token", .json(#""new""#).after(.seconds(3)))
        network.on(.get, "/me", .silence)
        let tokens = TokenStore(time: clock) { [login, clock] _ in
            Task(executorPreference: clock.executor) { try await login.run(.me) }
            return Token(accessToken: try await login.run(.post("token")))
        }
        try await clock.runTest {
            await tokens.signIn(old)
            let call = Task(executorPreference: clock.executor) { try? await tokens.token().accessToken }
            try await clock.sleep(for: .seconds(1))
            let end = Task(executorPreference: clock.executor) {
                await login.shutdown()
                return clock.elapsed
            }
            #expect(await ends(end, on: clock) == .seconds(3))
            #expect(await call.value == "new")
        }
    }

    @Test(
        "T18: a store can be waited for: until a session is saved whose task was cancelled", arguments: [true, false])
    func waits(inCancelledTask: Bool) async throws {
        let tokens = store()
        try await clock.runTest {
            await tokens.waitUntilSaved()
            #expect(clock.elapsed == .zero, "nothing is to be saved")
            let signIn = Task(executorPreference: clock.executor) { await tokens.signIn(old) }
            try await clock.sleep(for: .nanoseconds(1))
            signIn.cancel()
            await signIn.value
            let end = Task(executorPreference: clock.executor) {
                await tokens.waitUntilSaved()
                return disk.saved.load()?.token
            }
            if inCancelledTask { end.cancel() }
            #expect(await end.value == old)
        }
    }

    @Test("T18: inside the closure a wait for the store does not wait for itself")
    func waitsInside() async throws {
        let own = Noted<TokenStore?>(nil)
        let tokens = TokenStore(time: clock) { _ in
            await own.value?.waitUntilSaved()
            return Token(accessToken: "new")
        }
        own.value = tokens
        try await clock.runTest {
            await tokens.signIn(old)
            let call = Task(executorPreference: clock.executor) { try? await tokens.token().accessToken }
            #expect(await ends(call, within: .seconds(1), on: clock) == "new")
        }
        own.value = nil
    }

    @Test("T18: a refresh in its pause after a failure has sent nothing, and is not waited for")
    func inPause() async throws {
        let runs = Noted(0)
        let tokens = TokenStore(time: clock) { _ in
            runs.update { $0 += 1 }
            throw ServiceError.reset
        }
        try await clock.runTest {
            await tokens.signIn(old)
            for _ in 0..<8 { _ = await failure(of: tokens.token) }
            let waiter = Task(executorPreference: clock.executor) { await failure(of: tokens.token) }
            try await clock.sleep(for: .nanoseconds(1))
            let (start, count) = (clock.now, runs.value)
            await tokens.waitUntilSaved()
            #expect(clock.now == start && runs.value == count)
            #expect(await waiter.value == .reset)
            #expect(clock.now > start, "it was in its pause")
        }
    }
}

extension ServiceError {
    fileprivate var invalidSubject: InvalidRequest.Subject? {
        if case .invalidRequest(let invalid) = self { invalid.subject } else { nil }
    }
}
