@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("A store that obtains its tokens by itself")
struct ObtainedTokenTests {
    /// A service without a user: its tokens are `service.0`, `service.1`, …, and each takes a second to obtain.
    private struct Service: Sendable {
        let clock: TestClock
        let server: AuthServer
        let disk = MemoryTokenPersistence()
        let network = scripted()
        /// The errors with which the next requests for a token end, after which they work.
        let failures = Noted<[ServiceError]>([])
        let requests = Noted(0)
        private let lifetime: Duration?

        init(seed: UInt64 = 0, lifetime: Duration? = nil) {
            clock = TestClock(seed: seed)
            server = AuthServer(clock, lifetime: lifetime)
            self.lifetime = lifetime
            _ = server.signIn("service")
            network.on(.get, "/me") { [server] in .response(server.answer($0)) }
        }

        func obtain() async throws -> Token {
            requests.update { $0 += 1 }
            let number = requests.value - 1
            try await clock.sleep(for: .seconds(1))
            var failure: ServiceError?
            failures.update { if !$0.isEmpty { failure = $0.removeFirst() } }
            if let failure { throw failure }
            var token = server.token("service", number)
            token.refreshToken = nil
            return token
        }

        /// A store of one process.
        func store(_ persistence: (any TokenPersistence)? = nil) -> TokenStore {
            TokenStore(persistence: persistence ?? disk, time: clock) { try await obtain() }
        }

        func client(_ tokens: TokenStore) -> APIClient { testClient(network, clock) { $0.tokens = tokens } }

        var sentTokens: [String?] {
            network.sent.map { $0.request.headers["Authorization"].map { String($0.dropFirst("Bearer ".count)) } }
        }
    }

    @Test("T19: fifty calls without a session cause one request for a token, which is saved", arguments: 0..<20)
    func first(seed: UInt64) async throws {
        let service = Service(seed: seed)
        let tokens = service.store()
        let client = service.client(tokens)
        try await service.clock.runTest {
            try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<50 { group.addTask { try await client.run(.me) } }
                for try await name in group { #expect(name == "service") }
            }
            await tokens.waitUntilSaved()
        }
        #expect(service.requests.value == 1)
        #expect(service.sentTokens == Array(repeating: "service.0", count: 50))
        let saved = service.disk.load()
        #expect(saved?.token.accessToken == "service.0")
        #expect(await tokens.isSignedIn)
    }

    @Test("T19: the next start uses the saved token, and obtains another when it has expired")
    func nextStart() async throws {
        let service = Service(lifetime: .seconds(600))
        try await service.clock.runTest {
            #expect(try await service.client(service.store()).run(.me) == "service")
            #expect(try await service.client(service.store()).run(.me) == "service")
            #expect(service.requests.value == 1)
            try await service.clock.sleep(for: .seconds(601))
            #expect(try await service.client(service.store()).run(.me) == "service")
        }
        #expect(service.requests.value == 2)
        #expect(service.sentTokens == ["service.0", "service.0", "service.1"])
    }

    @Test("T19: a token that the server refuses is obtained again, once for all", arguments: 0..<20)
    func refused(seed: UInt64) async throws {
        let service = Service(seed: seed)
        let client = service.client(service.store())
        try await service.clock.runTest {
            _ = try await client.run(.me)
            service.server.refuseAccess(of: "service")
            try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<50 { group.addTask { try await client.run(.me) } }
                for try await name in group { #expect(name == "service") }
            }
        }
        #expect(service.requests.value == 2)
        #expect(service.sentTokens.suffix(50).allSatisfy { $0 == "service.1" })
    }

    @Test(
        "T19: if no token can be obtained, the waiting calls fail with that error, and a later one asks again",
        arguments: [ServiceError.reset, .refused, .rejected(Rejection(status: 401, message: "wrong secret"))])
    func unobtainable(error: ServiceError) async throws {
        let service = Service()
        service.failures.update { $0 = [error, error] }
        let tokens = service.store()
        let client = service.client(tokens)
        try await service.clock.runTest {
            for _ in 0..<2 {
                await withTaskGroup(of: ServiceError?.self) { group in
                    for _ in 0..<5 {
                        group.addTask { await failure { () async throws(ServiceError) in try await client.run(.me) } }
                    }
                    for await found in group { #expect(found?.description == "GET me: \(error) [https://api.test]") }
                }
            }
            #expect(await !tokens.isSignedIn)
            let name: String = try await client.run(.me)
            #expect(name == "service")
        }
        #expect(service.requests.value == 3)
        #expect(service.sentTokens == ["service.2"])
        // The second and the third request have waited for their delays.
        #expect(service.clock.elapsed > .seconds(3))
    }

    @Test("T19: a refusal after the first token keeps the session")
    func refusalKeeps() async throws {
        let service = Service(lifetime: .seconds(600))
        let tokens = service.store()
        let client = service.client(tokens)
        try await service.clock.runTest {
            _ = try await client.run(.me)
            try await service.clock.sleep(for: .seconds(601))
            service.failures.update { $0 = [.refused] }
            let refusal = await failure { () async throws(ServiceError) in try await client.run(.me) }
            #expect(refusal?.description == "GET me: \(ServiceError.refused) [https://api.test]")
            #expect(await tokens.isSignedIn)
            #expect(try await client.run(.me) == "service")
        }
        #expect(service.requests.value == 3)
    }

    @Test("T19: processes that share a session obtain one token", arguments: 0..<20)
    func shared(seed: UInt64) async throws {
        let (service, session) = (Service(seed: seed), SharedSession())
        try await service.clock.runTest {
            try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<5 {
                    let client = service.client(service.store(session.handle()))
                    for _ in 0..<5 { group.addTask { try await client.run(.me) } }
                }
                for try await name in group { #expect(name == "service") }
            }
        }
        #expect(service.requests.value == 1)
        #expect(Set(service.sentTokens) == ["service.0"])
        #expect(session.saved?.token.accessToken == "service.0")
    }

    @Test("T4, T19: a call that is cancelled while it waits leaves, and the token still comes")
    func cancelled() async throws {
        let service = Service()
        let tokens = service.store()
        let client = service.client(tokens)
        try await service.clock.runTest {
            let call = Task(executorPreference: service.clock.executor) {
                await failure { () async throws(ServiceError) in try await client.run(.me) }
            }
            try await service.clock.sleep(for: .milliseconds(500))
            call.cancel()
            #expect(await call.value == .cancelled)
            #expect(service.clock.elapsed == .milliseconds(500))
            #expect(try await client.run(.me) == "service")
        }
        #expect(service.requests.value == 1)
    }

    @Test("T6, T19: a sign-out while the token is obtained ends the waiting calls; a later one obtains another")
    func signOut() async throws {
        let service = Service()
        let tokens = service.store()
        let client = service.client(tokens)
        try await service.clock.runTest {
            async let waiting = failure { () async throws(ServiceError) in try await client.run(.me) }
            try await service.clock.sleep(for: .milliseconds(500))
            await tokens.signOut()
            let reason = await waiting?.reason
            #expect(reason == .signedOut)
            #expect(service.disk.load() == nil)
            #expect(try await client.run(.me) == "service")
            await tokens.waitUntilSaved()
        }
        #expect(service.requests.value == 2)
        #expect(service.sentTokens == ["service.1"])
        #expect(service.disk.load()?.token.accessToken == "service.1")
    }

    @Test("T7, T19: a sign-in while the token is obtained wins")
    func signIn() async throws {
        let service = Service()
        let tokens = service.store()
        let client = service.client(tokens)
        let ann = service.server.signIn("ann")
        try await service.clock.runTest {
            async let waiting = client.run(.me)
            try await service.clock.sleep(for: .milliseconds(500))
            await tokens.signIn(ann)
            let name = try await waiting
            #expect(name == "ann")
            try await service.clock.sleep(for: .seconds(2))
            #expect(try await client.run(.me) == "ann")
        }
        #expect(service.sentTokens == ["ann.0", "ann.0"])
    }

    @Test("T19: the closure cannot wait for a token of its store; the first token is a sign-in, a later one a refresh")
    func closure() async throws {
        let clock = TestClock()
        let store = Noted<TokenStore?>(nil)
        let inside = Noted<[ServiceError?]>([])
        let tokens = TokenStore(time: clock) {
            let error = await failure { () async throws(ServiceError) in try await store.value?.token() }
            inside.update { $0.append(error) }
            return Token(accessToken: "a", expiry: clock.date.addingTimeInterval(600))
        }
        store.update { $0 = tokens }
        var events = tokens.events.makeAsyncIterator()
        try await clock.runTest {
            #expect(try await tokens.token().accessToken == "a")
            try await clock.sleep(for: .seconds(601))
            #expect(try await tokens.token().accessToken == "a")
        }
        #expect(await events.next() == .signedIn)
        #expect(await events.next() == .refreshed)
        for error in inside.value {
            guard case .invalidRequest = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
        }
        #expect(inside.value.count == 2)
        store.update { $0 = nil }
    }
}
