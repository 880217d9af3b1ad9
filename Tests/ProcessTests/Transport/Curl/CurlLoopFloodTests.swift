#if os(Linux)
import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite(
    "A flood on one of several loops",
    .enabled(if: Program.openssl.isInstalled && Program.python3.isInstalled, "openssl or python3 is not installed"),
    .enabled(if: InstalledLibrary.speaksHTTP2, InstalledLibrary.speaksNoHTTP2), .timeLimit(.minutes(5)))
struct CurlLoopFloodTests {
    /// A test of time, so it runs only where little else does.
    @Test("L7: a flood on one loop delays hardly any call of another server", .enabled(if: LongRun.isWanted))
    func quickBesides() async throws {
        let authority = try await TestAuthority()
        let flooding = try await PythonServer(
            authority.issue(), speaking: "h2",
            """
            def serve(connection, number):
                greet(connection)
                stream, _ = next_request(connection)
                # Frames of a kind that nobody knows, until the connection is ended.
                many = frame(0xbb) * 10000
                note("floods")
                while True:
                    connection.sendall(many)
            """)
        let quick = try LoopbackServer()
        quick.onAny { request in request.path == "/hangs" ? .silence : .json("7") }
        let transport = authority.transport { $0.loops = 2 }
        func client(_ url: String) -> APIClient {
            APIClient(url) {
                $0.transport = transport
                $0.rateLimit = .unlimited
                $0.retry = .never
            }
        }
        let (flooded, other) = (client(flooding.url), client(quick.baseURL))
        // More at once than one loop has.
        let hanging = (0..<20).map { _ in Task { try await other.run(Endpoint<Int>.get("hangs")) } }
        await quick.received(atLeast: 20)
        let floods = Task {
            while !Task.isCancelled { _ = try? await flooded.run(Endpoint<Int>.get("x").timeout(.seconds(5))) }
        }
        await flooding.note()
        var durations: [Duration] = []
        let clock = ContinuousClock()
        for _ in 0..<500 {
            let begin = clock.now
            let value = try await other.run(Endpoint<Int>.get("x"))
            durations.append(begin.duration(to: clock.now))
            #expect(value == 7)
        }
        durations.sort()
        #expect(durations[475] < .milliseconds(100), "the slowest twentieth: \(durations.suffix(25))")
        floods.cancel()
        hanging.forEach { $0.cancel() }
        await floods.value
        await transport.shutdown()
    }
}
#endif
