package import ErrandTesting

extension TestClock {
    /// Runs a test on autopilot. Unlike `run` it always counts as throwing, so that all tests read alike.
    package func runTest(_ body: @Sendable () async throws -> Void) async throws {
        try await run(body)
    }
}
