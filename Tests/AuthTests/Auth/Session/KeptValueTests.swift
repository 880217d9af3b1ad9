@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("What a session keeps beside its token", .timeLimit(.minutes(10)))
struct KeptValueTests {
    private struct User: Codable, Sendable, Equatable {
        let id: Int
        var name = "Ann"
    }

    private struct Unfit: Encodable, Sendable {
        func encode(to encoder: any Encoder) throws { throw CancellationError() }
    }

    private let scratch: Scratch
    private let clock = TestClock()

    init() throws {
        scratch = try Scratch()
    }

    private func store(_ persistence: any TokenPersistence) -> TokenStore {
        TokenStore(persistence: persistence, time: clock) { old in
            Token(accessToken: "\(old.accessToken)+", refreshToken: "r")
        }
    }

    @Test("it survives refreshes and restarts, and goes at the sign-out")
    func lasting() async throws {
        let persistence = FileTokenPersistence.file(scratch.path("session"))
        let first = store(persistence)
        #expect(try await first.kept(as: User.self) == nil)
        #expect(await first.current == nil)
        try await first.signIn(Token(accessToken: "a", refreshToken: "r", expiry: clock.date), keeping: User(id: 7))
        #expect(try await first.kept(as: User.self) == User(id: 7))
        #expect(try await first.token().accessToken == "a+")
        await first.waitUntilSaved()
        let second = store(persistence)
        #expect(try await second.kept(as: User.self) == User(id: 7))
        #expect(await second.current?.accessToken == "a+")
        await second.signOut()
        await second.waitUntilSaved()
        let third = store(persistence)
        #expect(try await third.kept(as: User.self) == nil)
        #expect(await third.current == nil)
    }

    @Test("another sign-in has another value, or none")
    func others() async throws {
        let store = store(.memory)
        try await store.signIn(Token(accessToken: "a"), keeping: User(id: 7))
        try await store.signIn(Token(accessToken: "b"), keeping: User(id: 8))
        #expect(try await store.kept(as: User.self) == User(id: 8))
        await store.signIn(Token(accessToken: "c"))
        #expect(try await store.kept(as: User.self) == nil)
    }

    @Test("what cannot be kept signs nobody in; what has another form is an error, and keeps the session")
    func unfit() async throws {
        let store = store(.memory)
        for attempt in [
            { try await store.signIn(Token(accessToken: "a"), keeping: Unfit()) },
            { try await store.signIn(Token(accessToken: "a"), keeping: String(repeating: "x", count: 70_000)) },
        ] as [() async throws -> Void] {
            let error = await #expect(throws: ServiceError.self) { try await attempt() }
            guard case .invalidRequest = error else { throw try #require(error) }
        }
        #expect(await store.isSignedIn == false)
        try await store.signIn(Token(accessToken: "a"), keeping: User(id: 7))
        let error = try await #require(throws: ServiceError.self) { _ = try await store.kept(as: [Int].self) }
        guard case .decodingFailed = error else { throw error }
        #expect(!"\(error)".contains("Ann"))
        #expect(await store.isSignedIn)
        #expect(!printed(store).contains("Ann"))
    }

    @Test("a session that was saved before has none")
    func old() throws {
        let session = SavedSession(id: UUID(), token: Token(accessToken: "a"), received: clock.date)
        let json = String(decoding: try JSONEncoder().encode(session), as: UTF8.self)
        #expect(!json.contains("kept"))
        #expect(try JSONDecoder().decode(SavedSession.self, from: Data(json.utf8)) == session)
    }

    @Test("a store that obtains its tokens has no current one before the first")
    func obtained() async throws {
        let store = TokenStore(time: clock) { Token(accessToken: "machine") }
        #expect(await store.current == nil)
        _ = try await store.token()
        #expect(await store.current?.accessToken == "machine")
    }
}
