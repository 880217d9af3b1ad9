#if os(Linux)
import ErrandTestSupport
import Testing

/// What is left when sign-ins have ended, in a process that does nothing else.
@Suite("OAuth: what a receiver leaves behind", .timeLimit(.minutes(10))) struct ReceiverLeftoversTests {
    @Test(
        "S5: no descriptor or port of a receiver is left after cancellation, the limit and a failure",
        arguments: ["cancelled", "late", "failed"])
    func leftovers(ending: String) async throws {
        let count = 20
        let probe = try Child("TransportProbe", ["receivers", "\(count)", ending])
        let (lines, status) = try await probe.end()
        let counts = lines.map { line in line.split(separator: " ").compactMap { Int($0) } }
        try #require(status == 0 && counts.map(\.count) == [1, 1, 1, 1], "\(lines)")
        let (before, during, after) = (counts[0][0], counts[1][0], counts[2][0])
        if ending != "failed" {
            // A socket and a pipe each, and the connections of half of them.
            #expect(during >= before + 3 * count, "\(counts)")
        }
        #expect(after <= before, "\(counts)")
        #expect(counts[3] == [0])
    }
}
#endif
