#if os(Linux)
import Errand
import ErrandTesting
import Testing

@Suite("Transport conformance of libcurl", .timeLimit(.minutes(3))) struct CurlConformanceTests {
    @Test(arguments: TransportConformance.all)
    func conforms(_ rule: TransportConformance.Case) async throws {
        try await rule.check { CurlTransport() }
    }
}
#endif
