@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("A session shared by several processes", .timeLimit(.minutes(10)))
struct SharedFileTests {
    private let scratch: Scratch
    private let file: FileTokenPersistence

    init() throws {
        scratch = try Scratch()
        file = FileTokenPersistence(path: scratch.path("session"))
    }

    @Test("T15: another process has refreshed; its token is read and used, without a refresh")
    func readAgain() async throws {
        let clock = TestClock()
        let server = AuthServer(clock)
        let here = store(clock, server)
        let there = store(clock, server)
        let events = there.events
        try await clock.runTest {
            let old = server.signIn("ann")
            await here.signIn(old)
            #expect(try await there.token() == old)
            let newer = try await here.replacement(for: old)
            let found = try await there.replacement(for: old)
            #expect(found == newer)
            #expect(await first(1, of: events) == [.refreshed])
        }
        #expect(server.refreshes.count == 1)
    }

    @Test("T15: two refresh at the same time; one waits for the lock and finds the other's token", arguments: 0..<10)
    func atOnce(seed: UInt64) async throws {
        let clock = TestClock(seed: seed)
        let server = AuthServer(clock)
        let here = store(clock, server)
        let there = store(clock, server)
        try await clock.runTest {
            let old = server.signIn("ann")
            await here.signIn(old)
            _ = try await there.token()
            async let one = here.replacement(for: old)
            async let other = there.replacement(for: old)
            let (mine, theirs) = try await (one, other)
            #expect(mine == theirs)
        }
        #expect(server.refreshes == ["refresh.ann.0"])
    }

    @Test("T15: the token that the other process saved has expired too; its refresh token is used, not the old one")
    func expiredSince() async throws {
        let clock = TestClock()
        let server = AuthServer(clock, lifetime: .seconds(600))
        let here = store(clock, server)
        let there = store(clock, server)
        try await clock.runTest {
            let old = server.signIn("ann")
            await here.signIn(old)
            _ = try await there.token()
            _ = try await here.replacement(for: old)
            try await clock.sleep(for: .seconds(700))
            let token = try await there.token()
            #expect(token.accessToken == "ann.2")
        }
        #expect(server.refreshes == ["refresh.ann.0", "refresh.ann.1"])
    }

    @Test("T15: the other process has signed out, or another user in; that applies here too", arguments: [true, false])
    func changedSince(signsIn: Bool) async throws {
        let clock = TestClock()
        let server = AuthServer(clock)
        let here = store(clock, server)
        let there = store(clock, server)
        let events = there.events
        try await clock.runTest {
            let old = server.signIn("ann")
            await here.signIn(old)
            _ = try await there.token()
            if signsIn { await here.signIn(server.signIn("bo")) } else { await here.signOut() }
            let error = await failure { () async throws(ServiceError) in try await there.replacement(for: old) }
            #expect(error?.reason == (signsIn ? .otherSession : .signedOut))
            let next = try? await there.token().accessToken
            #expect(next == (signsIn ? "bo.0" : nil))
            #expect(await first(1, of: events) == [signsIn ? .signedIn : .signedOut])
        }
        #expect(server.refreshes.isEmpty)
    }

    @Test("C83: twenty processes share a file: one refresh, no reuse, and all end with the same token")
    func sameToken() async throws {
        let children = try await twenty(times: 1)
        for child in children {
            let (lines, status) = try await child.end()
            #expect(status == 0)
            #expect(lines == ["access.1"])
        }
        #expect(try scratch.read("server") == "refresh.0")
        #expect(try await file.load()?.token.accessToken == "access.1")
    }

    @Test("C83: twenty processes refresh again and again; no refresh token is used twice")
    func again() async throws {
        let children = try await twenty(times: 4)
        for child in children { #expect(try await child.end().status == 0) }
        let came = try scratch.read("server").split(separator: "\n").map(String.init)
        #expect(came == came.indices.map { "refresh.\($0)" })
        #expect((4...80).contains(came.count))
        #expect(try await file.load()?.token.refreshToken == "refresh.\(came.count)")
    }

    /// Starts twenty processes that have all read the file, and then makes them replace their token.
    private func twenty(times: Int) async throws -> [Child] {
        let token = Token(accessToken: "access.0", refreshToken: "refresh.0")
        try await file.save(SavedSession(id: UUID(), token: token, received: Date()))
        let children = try (0..<20).map { _ in
            try Child("replace", scratch.path("session"), scratch.path("server"), "\(times)")
        }
        for child in children { try await child.firstWord() }
        for child in children { child.go() }
        return children
    }

    /// Returns a store that waits for the lock on the file in real time. Virtual time knows nothing of that wait and
    /// would jump to the limit of the refresh, so there is none.
    private func store(_ clock: TestClock, _ server: AuthServer) -> TokenStore {
        TokenStore(persistence: file, refreshTimeout: .seconds(Int64.max), time: clock) {
            try await server.refresh($0)
        }
    }
}
