import ErrandTestSupport
import ErrandTesting
import Testing

#if DEBUG
/// Real time passes here: a second for each process. Only a debug build says anything.
@Suite("A program that the default limit makes wait", .timeLimit(.minutes(10)))
struct DefaultLimitTests {
    @Test("it says why once, on standard error, unless a limit was set", arguments: [("default", 1), ("set", 0)])
    func program(limit: String, lines: Int) async throws {
        let server = try LoopbackServer()
        server.onAny { _ in .json("1") }
        let child = try Child("TransportProbe", ["limited", server.baseURL, limit], errors: .withOutput)
        let (said, status) = try await child.end()
        #expect(status == 0 && server.received.count == 7)
        #expect(said.count == lines, "\(said)")
        for line in said {
            #expect(line.hasPrefix("Errand: calls wait, ") && line.contains("$0.rateLimit"), "\(line)")
            #expect(line.contains("`.unlimited`") && line.contains("`$0.limiter`"), "\(line)")
        }
    }
}
#endif
