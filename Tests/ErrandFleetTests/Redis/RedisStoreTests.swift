#if os(Linux)
import ErrandFleet
import ErrandSimulation
import ErrandTestSupport
import Testing

@Suite("A store in Redis", .timeLimit(.minutes(10))) struct RedisStoreTests {
    @Test(
        "F14: the promises fit another engine: a script in Redis keeps them",
        .enabled(if: ServerProgram.redis.isInstalled, "redis-server is not installed"))
    func conformance() async throws {
        let scratch = try Scratch()
        let port = try ServerProgram.freePorts(1)[0]
        let server = try OwnedProcess(
            .redis, ["--port", "\(port)", "--bind", "127.0.0.1", "--dir", scratch.folder, "--save", ""])
        let store = RedisStore(port: port)
        for _ in 0..<600 {
            guard await storeProblem({ try await store.read("a") }) == .unreachable else { break }
            try await Task.sleep(for: .milliseconds(100))
        }
        for rule in FleetStoreConformance.all {
            do {
                try await rule.check { RedisStore(port: port) }
            } catch {
                Issue.record("\(error)")
            }
        }
        await server.kill()
    }
}
#endif
