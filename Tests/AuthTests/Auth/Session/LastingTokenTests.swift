@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("Tokens that the server does not replace")
struct LastingTokenTests {
    private let clock = TestClock()
    private let network = scripted()
    private let disk = MemoryTokenPersistence()
    private let tokens: TokenStore
    private let client: APIClient

    init() {
        let tokens = TokenStore(persistence: disk, time: clock)
        self.tokens = tokens
        client = testClient(network, clock) { $0.tokens = tokens }
    }

    @Test("a 401 is the result, with the server's own message; the session stays until the app ends it")
    func refused() async throws {
        network.on(.get, "/me") { .json(#"{"message": "the token was taken back"}"#, status: 401) }
        try await clock.runTest {
            await tokens.signIn(Token(accessToken: "one-that-lasts", type: "JWT"))
            let error = await failure { () async throws(ServiceError) in try await client.run(.me) }
            guard case .rejected(let rejection) = error else { throw try #require(error) }
            #expect(rejection.status == 401 && rejection.message == "the token was taken back")
            #expect(await tokens.isSignedIn)
            #expect(disk.load() != nil)
        }
        #expect(network.sent.map { $0.request.headers["Authorization"] } == ["JWT one-that-lasts"])
    }

    @Test("an invalid token ends only its own session")
    func ownSession() async throws {
        let (old, new) = (Token(accessToken: "old-one"), Token(accessToken: "new-one"))
        await tokens.signIn(old)
        await tokens.signIn(new)
        await tokens.signOut(of: old)
        #expect(try await tokens.token() == new)
        await tokens.signOut(of: new)
        #expect(await tokens.isSignedIn == false)
    }

    @Test("after its expiry the session is over: nothing is sent, and one event reports it")
    func expired() async throws {
        let events = tokens.events
        network.on(.get, "/me") { .json(#""ann""#) }
        try await clock.runTest {
            await tokens.signIn(Token(accessToken: "a", expiry: clock.date.addingTimeInterval(60)))
            #expect(try await client.run(.me) == "ann")
            try await clock.sleep(for: .seconds(60))
            let expiry = SessionExpiry(.notRefreshable)
            let errors = await withTaskGroup(of: ServiceError?.self) { group in
                for _ in 0..<10 {
                    group.addTask { await failure { () async throws(ServiceError) in try await client.run(.me) } }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(errors == Array(repeating: .sessionExpired(expiry), count: 10))
            try await clock.sleep(for: .seconds(1))
            #expect(disk.load() == nil)
            #expect(await first(2, of: events) == [.signedIn, .expired(expiry)])
        }
        #expect(network.sent.count == 1)
    }
}
