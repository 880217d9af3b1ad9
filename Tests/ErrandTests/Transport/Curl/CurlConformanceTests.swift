#if os(Linux)
import Errand
import ErrandTesting
import Testing

@Suite("libcurl does on the wire what every transport must", .timeLimit(.minutes(3))) struct CurlConformanceTests {
    /// What cannot be had of libcurl.
    private static let known: Set<String> = [
        // It takes the end of the connection for the end of the packed body, and shows the packed bytes to nobody.
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
