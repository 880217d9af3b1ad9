@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

// Serialized: each seed is a long piece of work, and hundreds at once would delay the tests that use real time.
@Suite("Interleavings of a token store", .serialized, .timeLimit(.minutes(10)))
struct InterleavingTests {
    @Test(
        "T1-T10: random steps of ten tasks break no guarantee of the store",
        arguments: UInt64(0)..<(LongRun.isWanted ? 200 : 60))
    func walk(seed: UInt64) async throws {
        let walk = Walk(seed: seed)
        try await walk.run(tasks: 10, steps: 50)
        #expect(walk.violations.isEmpty, "\(walk.violations)")
        // A walk that makes no progress proves nothing.
        #expect(walk.tokensHandedOut > 20)
    }
}

/// One random run: ten tasks use a store in every possible way, with a server that revokes a session on reuse.
private struct Walk: Sendable {
    private struct Notes {
        var violations: [String] = []
        var handedOut = 0
        var users = 0
        var finished = 0
    }

    private let clock: TestClock
    private let server: AuthServer
    private let disk: JournalPersistence
    private let tokens: TokenStore
    private let notes = Shared(Notes())

    init(seed: UInt64) {
        let clock = TestClock(seed: seed)
        let lifetime = Duration.seconds(Int64(5 + clock.random() % 100))
        let server = AuthServer(
            clock, lifetime: lifetime, takes: .milliseconds(Int64(clock.random() % 3000)))
        let disk = JournalPersistence(clock)
        self.clock = clock
        self.server = server
        self.disk = disk
        tokens = TokenStore(persistence: disk, time: clock) { old in
            switch clock.random() % 10 {
            case 0: server.plan(.fail(.refused))
            case 1, 2: server.plan(.fail(.reset))
            case 3: server.plan(.withoutRefreshToken)
            default: server.plan(.rotate)
            }
            // Some closures ignore their cancellation.
            guard clock.random() % 3 == 0 else { return try await server.refresh(old) }
            return try await Task(executorPreference: clock.executor) { try await server.refresh(old) }.value
        }
    }

    var violations: [String] { notes.value.withLock { $0.violations } }
    var tokensHandedOut: Int { notes.value.withLock { $0.handedOut } }

    func run(tasks: Int, steps: Int) async throws {
        try await clock.runTest {
            await signIn()
            for _ in 0..<tasks {
                Task(executorPreference: clock.executor) {
                    for _ in 0..<steps { await step() }
                    notes.value.withLock { $0.finished += 1 }
                }
            }
            // Longer than all pauses of the store and of this test together.
            try await clock.sleep(for: .seconds(3600 * 24))
            let finished = notes.value.withLock { $0.finished }
            if finished != tasks { note("\(tasks - finished) tasks wait for ever") }
            checkAtRest()
        }
    }

    private func step() async {
        switch clock.random() % 20 {
        case 0: await signIn()
        case 1: if clock.random() % 2 == 0 { await tokens.signOut() }
        case 2...5: await pause(upTo: 10_000)
        case 6...8: await leaveEarly()
        case 9, 10: await replace()
        default: await ask()
        }
        if server.mostAtOnce > 1 { note("two refreshes of one session at once") }
    }

    private func signIn() async {
        let number = notes.value.withLock { notes in
            notes.users += 1
            return notes.users
        }
        await tokens.signIn(server.signIn("user\(number)"))
    }

    /// A call: bound to a session, a while in a queue, then signed.
    private func ask() async {
        guard let (id, user, _) = present() else { return }
        await pause(upTo: 2000)
        await check(user) { () async throws(ServiceError) in try await tokens.token(of: id, in: CallScope()) }
    }

    /// A call whose token is refused.
    private func replace() async {
        guard let (id, user, token) = present() else { return }
        await pause(upTo: 2000)
        let newer = await check(user) { () async throws(ServiceError) in
            try await tokens.token(of: id, insteadOf: token.accessToken, in: CallScope())
        }
        if let newer, newer.accessToken == token.accessToken { note("\(token.accessToken) replaced by itself") }
    }

    /// A call that is cancelled at some point.
    private func leaveEarly() async {
        guard let (id, user, token) = present() else { return }
        let isRefused = clock.random() % 2 == 0
        let call = Task(executorPreference: clock.executor) {
            await check(user) { () async throws(ServiceError) in
                isRefused
                    ? try await tokens.token(of: id, insteadOf: token.accessToken, in: CallScope())
                    : try await tokens.token(of: id, in: CallScope())
            }
            return clock.now
        }
        await pause(upTo: 2000)
        let cancelled = clock.now
        call.cancel()
        if await call.value > cancelled { note("a cancelled waiter stayed") }
    }

    private func present() -> (UUID, user: Substring, Token)? {
        tokens.live.current.map { ($0.id, $0.token.accessToken.prefix { $0 != "." }, $0.token) }
    }

    /// The token that a call gets must belong to its own user, and must have been saved before.
    @discardableResult
    private func check(_ user: Substring, _ ask: () async throws(ServiceError) -> Token) async -> Token? {
        do throws(ServiceError) {
            let token = try await ask()
            notes.value.withLock { $0.handedOut += 1 }
            if !token.accessToken.hasPrefix("\(user).") { note("a call of \(user) was handed \(token.accessToken)") }
            if !token.accessToken.hasSuffix(".0"), !disk.hasSaved(token.accessToken) {
                note("\(token.accessToken) was not saved")
            }
            return token
        } catch .cancelled, .reset, .sessionExpired {
            return nil
        } catch {
            note("unexpected: \(error)")
            return nil
        }
    }

    private func checkAtRest() {
        let (session, refresh) = (tokens.live.current, tokens.live.refresh)
        if refresh != nil { note("a refresh never ended") }
        if disk.present != session { note("saved is \(disk.present?.token.accessToken ?? "-"), not what is current") }
        if disk.mostAtOnce > 1 { note("the persistence was used twice at once") }
        for number in 1...notes.value.withLock({ $0.users }) {
            let uses = server.account("user\(number)")?.uses.values.max() ?? 0
            if uses > 1 { note("a refresh token of user\(number) was used \(uses) times") }
        }
    }

    private func pause(upTo milliseconds: UInt64) async {
        // The walk continues, cancelled or not.
        try? await clock.sleep(for: .milliseconds(Int64(clock.random() % milliseconds)))
    }

    private func note(_ violation: String) {
        notes.value.withLock { $0.violations.append(violation) }
    }
}

/// A wrapper that makes a value with a lock copyable.
private final class Shared<State: Sendable>: Sendable {
    let value: Lock<State>

    init(_ state: State) { value = Lock(state) }
}

/// A persistence with random delays that remembers everything it has saved.
private final class JournalPersistence: TokenPersistence {
    private struct State {
        var present: SavedSession?
        var saved: Set<String> = []
        var running = 0
        var mostAtOnce = 0
    }

    private let clock: TestClock
    private let state = Lock(State())

    init(_ clock: TestClock) { self.clock = clock }

    var present: SavedSession? { state.withLock { $0.present } }
    var mostAtOnce: Int { state.withLock { $0.mostAtOnce } }

    func hasSaved(_ access: String) -> Bool { state.withLock { $0.saved.contains(access) } }

    func load() async -> SavedSession? {
        await pass()
        return present
    }

    func save(_ session: SavedSession?) async {
        await pass()
        state.withLock { state in
            state.present = session
            if let access = session?.token.accessToken { state.saved.insert(access) }
        }
    }

    private func pass() async {
        state.withLock { state in
            state.running += 1
            state.mostAtOnce = max(state.mostAtOnce, state.running)
        }
        // A disk completes what it has begun, cancelled or not.
        let latch = Latch()
        let end = clock.now.advanced(by: .milliseconds(Int64(clock.random() % 100)))
        let alarm = clock.schedule(at: end, for: .watch) { latch.open() }
        await latch.opened()
        alarm.cancel()
        state.withLock { $0.running -= 1 }
    }
}
