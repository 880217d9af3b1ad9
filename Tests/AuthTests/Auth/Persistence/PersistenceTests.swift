@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("The store and its persistence")
struct PersistenceTests {
    @Test("the saved session is used by the next run; it is read once, when the first call needs it")
    func nextRun() async throws {
        let clock = TestClock()
        let disk = CountingPersistence()
        disk.put(SavedSession(id: UUID(), token: Token(accessToken: "ann"), received: clock.date))
        let tokens = TokenStore(persistence: disk, time: clock) { $0 }
        #expect(disk.loads == 0)
        try await clock.runTest {
            let found = try await withThrowingTaskGroup(of: Token.self) { group in
                for _ in 0..<10 { group.addTask { try await tokens.token() } }
                return try await group.reduce(into: []) { $0.append($1.accessToken) }
            }
            #expect(found == Array(repeating: "ann", count: 10))
            #expect(await tokens.isSignedIn)
        }
        #expect(disk.loads == 1)
    }

    @Test("a saved session with the largest possible revision can be refreshed")
    func largestRevision() async throws {
        let clock = TestClock()
        let disk = MemoryTokenPersistence()
        let old = Token(accessToken: "a", expiry: clock.date)
        disk.save(SavedSession(id: UUID(), revision: .max, token: old, received: .distantPast))
        let tokens = TokenStore(persistence: disk, time: clock) { _ in Token(accessToken: "b") }
        try await clock.runTest {
            let token = try await tokens.token()
            #expect(token.accessToken == "b")
            #expect(disk.load()?.token.accessToken == "b")
        }
    }

    @Test("a task that is cancelled while the session is read still learns that a user is signed in")
    func cancelledQuestion() async throws {
        let clock = TestClock()
        let disk = SlowPersistence(clock)
        disk.saved.save(SavedSession(id: UUID(), token: Token(accessToken: "a"), received: clock.date))
        let tokens = TokenStore(persistence: disk, time: clock) { $0 }
        try await clock.runTest {
            let question = Task(executorPreference: clock.executor) { await tokens.isSignedIn }
            question.cancel()
            #expect(await question.value)
        }
    }

    @Test("a failed save is reported, and the session continues in memory")
    func saveFails() async throws {
        let clock = TestClock()
        let disk = CountingPersistence()
        let tokens = TokenStore(persistence: disk, time: clock) { _ in Token(accessToken: "new") }
        let events = tokens.events
        let full = TokenPersistenceError(.unwritable, "no space left on device")
        disk.failSaves(with: full)
        try await clock.runTest {
            let old = Token(accessToken: "old")
            await tokens.signIn(old)
            let newer = try await tokens.replacement(for: old)
            #expect(newer.accessToken == "new")
            #expect(try await tokens.token() == newer)
            disk.failSaves(with: nil)
            await tokens.signOut()
            #expect(
                await first(5, of: events) == [.signedIn, .notSaved(full), .notSaved(full), .refreshed, .signedOut])
        }
    }

    @Test("a foreign error of a persistence is reported by its type, without its content")
    func foreignError() async throws {
        struct Odd: Error { var secret = "hunter2" }
        let clock = TestClock()
        let disk = CountingPersistence()
        let tokens = TokenStore(persistence: disk, time: clock) { $0 }
        let events = tokens.events
        disk.failSaves(with: Odd())
        try await clock.runTest {
            await tokens.signIn(Token(accessToken: "old"))
            let reported = await first(2, of: events).last
            guard case .notSaved(let error) = reported else {
                Issue.record("\(String(describing: reported))")
                return
            }
            #expect(error.kind == .other)
            #expect(error.message.hasSuffix("Odd"))
        }
    }

    @Test("a session that cannot be read is an error each time, until it can be read")
    func loadFails() async throws {
        let clock = TestClock()
        let disk = CountingPersistence()
        disk.put(SavedSession(id: UUID(), token: Token(accessToken: "ann"), received: clock.date))
        disk.failLoads(with: TokenPersistenceError(.unreadable, "locked"))
        let tokens = TokenStore(persistence: disk, time: clock) { $0 }
        try await clock.runTest {
            for _ in 0..<2 {
                let error = await failure(of: tokens.token)
                #expect(error == .sessionExpired(SessionExpiry(.unreadable, message: "locked")))
                #expect(await tokens.isSignedIn == false)
            }
            disk.failLoads(with: nil)
            let token = try await tokens.token()
            #expect(token.accessToken == "ann")
        }
    }

    @Test(
        "a damaged session is an error once; then the user is signed out",
        arguments: [.damaged, .futureVersion] as [TokenPersistenceError.Kind])
    func damaged(kind: TokenPersistenceError.Kind) async throws {
        let clock = TestClock()
        let disk = CountingPersistence()
        disk.failLoads(with: TokenPersistenceError(kind, "odd"))
        let tokens = TokenStore(persistence: disk, time: clock) { $0 }
        let events = tokens.events
        try await clock.runTest {
            let error = await failure(of: tokens.token)
            let expiry = SessionExpiry(.damaged, message: "odd")
            #expect(error == .sessionExpired(expiry) && error?.needsSignIn == true)
            let sentences = error?.localizedDescription(in: "en")
            #expect(sentences == "Your saved session cannot be read. Sign in again.")
            #expect(await failure(of: tokens.token) == .signInRequired)
            #expect(await first(2, of: events) == [.notSaved(TokenPersistenceError(kind, "odd")), .expired(expiry)])
        }
        #expect(disk.loads == 1)
    }

    @Test("a damaged session of a store that obtains its tokens does not ask for a sign-in")
    func damagedService() async throws {
        let clock = TestClock()
        let disk = CountingPersistence()
        disk.failLoads(with: TokenPersistenceError(.damaged, "odd"))
        let tokens = TokenStore(persistence: disk, time: clock) { Token(accessToken: "own") }
        let events = tokens.events
        try await clock.runTest {
            let error = await failure(of: tokens.token)
            #expect(error?.reason == .unreadable && error?.needsSignIn == false)
            await tokens.signIn(Token(accessToken: "ann"))
            #expect(await first(2, of: events) == [.notSaved(TokenPersistenceError(.damaged, "odd")), .signedIn])
        }
    }

    @Test("a user signs in while the old session is being read; the old session is discarded", arguments: 0..<20)
    func signInDuringLoad(seed: UInt64) async throws {
        let clock = TestClock(seed: seed)
        let disk = SlowPersistence(clock)
        disk.saved.save(SavedSession(id: UUID(), token: Token(accessToken: "ann"), received: clock.date))
        let tokens = TokenStore(persistence: disk, time: clock) { $0 }
        try await clock.runTest {
            async let early = tokens.token()
            try await clock.sleep(for: .milliseconds(20))
            await tokens.signIn(Token(accessToken: "bo"))
            #expect(try await early.accessToken == "bo")
            #expect(disk.saved.load()?.token.accessToken == "bo")
        }
    }

    @Test("T7: a new user's refresh runs before the sign-in is saved; it stays the new user's", arguments: 0..<40)
    func refreshBeforeSave(seed: UInt64) async throws {
        let clock = TestClock(seed: seed)
        let disk = SlowPersistence(clock)
        let tokens = TokenStore(persistence: disk, time: clock) { old in Token(accessToken: "\(old.accessToken).new") }
        try await clock.runTest {
            let ann = Task(executorPreference: clock.executor) { await tokens.signIn(Token(accessToken: "ann")) }
            try await clock.sleep(for: .milliseconds(25))
            let calls = (0..<4).map { _ in
                let events = tokens.events
                return Task(executorPreference: clock.executor, priority: .high) {
                    _ = await first(1, of: events)
                    return try? await tokens.token().accessToken
                }
            }
            // A task of low priority signs in, and its save waits while tasks of high priority continue.
            let bo = Task(executorPreference: clock.executor, priority: .background) {
                await tokens.signIn(Token(accessToken: "bo", expiry: clock.date))
            }
            await ann.value
            await bo.value
            for call in calls { #expect(await call.value == "bo.new") }
            #expect(try await tokens.token().accessToken == "bo.new")
            #expect(disk.saved.load()?.token.accessToken == "bo.new")
        }
    }

    @Test("the persistence is called from one task at a time", arguments: 0..<20)
    func oneAtATime(seed: UInt64) async throws {
        let clock = TestClock(seed: seed)
        let disk = SlowPersistence(clock)
        let tokens = TokenStore(persistence: disk, time: clock) { _ in Token(accessToken: "new") }
        try await clock.runTest {
            await withTaskGroup { group in
                group.addTask { _ = await tokens.isSignedIn }
                group.addTask { await tokens.signIn(Token(accessToken: "ann")) }
                group.addTask { _ = try? await tokens.replacement(for: Token(accessToken: "ann")) }
                group.addTask { await tokens.signOut() }
                group.addTask { await tokens.signIn(Token(accessToken: "bo")) }
            }
        }
        #expect(disk.mostAtOnce == 1)
    }

    @Test("a damaged file that is kept aside does not count as a sign-out by another process")
    func damagedWhileInUse() async throws {
        let clock = TestClock()
        let disk = CountingPersistence()
        let tokens = TokenStore(persistence: disk, time: clock) { old in Token(accessToken: "\(old.accessToken)+") }
        try await clock.runTest {
            await tokens.signIn(Token(accessToken: "a"))
            disk.failLoads(with: TokenPersistenceError(.damaged, "odd"))
            disk.failSaves(with: TokenPersistenceError(.unwritable, "full"))
            disk.put(nil)
            let second = try await tokens.replacement(for: Token(accessToken: "a"))
            #expect(second.accessToken == "a+")
            disk.failLoads(with: nil)
            let third = try await tokens.replacement(for: second)
            #expect(third.accessToken == "a++")
        }
    }
}
