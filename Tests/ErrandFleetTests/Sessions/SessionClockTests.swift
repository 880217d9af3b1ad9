import Errand
import ErrandFleet
import ErrandSimulation
import ErrandTesting
import Foundation
import Testing

/// The clocks of a machine whose wall clock is wrong.
struct WrongClock: TimeSource {
    let time: any TimeSource
    /// How many seconds it is ahead.
    let offset: TimeInterval

    var now: Instant { time.now }
    var date: Date { time.date.addingTimeInterval(offset) }
    var executor: (any TaskExecutor)? { time.executor }

    func random() -> UInt64 { time.random() }

    func schedule(
        at instant: Instant, for purpose: Alarm.Purpose, _ action: @escaping @Sendable () -> Void
    ) -> Alarm {
        time.schedule(at: instant, for: purpose, action)
    }
}

@Suite("Sessions on machines whose wall clocks differ", .timeLimit(.minutes(10))) struct SessionClockTests {
    private let clock = TestClock()
    private let scene: SessionScene

    init() throws {
        scene = try SessionScene(time: clock)
    }

    private func session(_ access: String) -> SavedSession {
        SavedSession(id: UUID(), token: Token(accessToken: access, refreshToken: "r"), received: clock.date)
    }

    @Test("F7, F8: after `discard()`, a sign-in by a new process is seen by all, and the former record is outdated")
    func discarded() async throws {
        let (former, next) = (session("former"), session("next"))
        try await clock.run {
            let hasty = scene.sessions(time: WrongClock(time: clock, offset: 3600))
            let other = scene.sessions()
            try await hasty.save(former)
            let found = try await other.load()
            #expect(found == former)
            let backup = try await scene.store.read(other.storeKey)
            try await scene.sessions().discard()
            try await scene.sessions(time: WrongClock(time: clock, offset: -3600)).save(next)
            for node in [hasty, other] {
                let found = try await node.load()
                #expect(found == next)
            }
            let revision = try await scene.store.read(other.storeKey)?.revision
            _ = try await scene.store.write(backup?.bytes, to: other.storeKey, replacing: revision)
            for node in [hasty, other] {
                let problem = await sessionProblem { try await node.load() }
                #expect(problem == .outdated)
            }
        }
    }

    @Test("F7: nodes whose wall clocks differ by an hour refresh the token once")
    func refresh() async throws {
        let nodes = [-3600.0, 0, 3600].map { scene.node(time: WrongClock(time: clock, offset: $0)) }
        let tokens = try await clock.run { () async throws -> [Result<String, ServiceError>] in
            try await scene.seed()
            return await withTaskGroup { group in
                for node in nodes { group.addTask { await SessionScene.replacement(in: node) } }
                return await group.reduce(into: []) { $0.append($1) }
            }
        }
        #expect(tokens == Array(repeating: .success("access.1"), count: 3))
        #expect(scene.server.refreshes == 1)
        #expect(clock.elapsed < .seconds(5))
    }
}
