#if os(Linux)
import Errand
import ErrandTesting
import Testing

@Suite("Transport conformance of libcurl", .timeLimit(.minutes(3))) struct CurlConformanceTests {
    /// The cases that libcurl cannot pass.
    private static let known: Set<String> = [
        // It takes the end of the connection for the end of the compressed body, and does not expose the compressed
        // bytes.
        "C39: a packed body that breaks off is an error"
    ]

    @Test(arguments: TransportConformance.all)
    func conforms(_ rule: TransportConformance.Case) async throws {
        try await withKnownIssue(isIntermittent: true) {
            try await rule.check { CurlTransport() }
        } when: {
            Self.known.contains(rule.description)
        }
    }
}
#endif
