#if os(Linux)
import Errand
import ErrandTesting
import Testing

@Suite("Transport conformance of libcurl", .timeLimit(.minutes(10))) struct CurlConformanceTests {
    private static let cases = TransportConformance.all.filter { CurlExclusions.table[$0.description] == nil }

    @Test("C94: the transport passes each case with the installed libcurl", arguments: cases)
    func conforms(_ rule: TransportConformance.Case) async throws {
        try await rule.check { CurlTransport() }
    }

    @Test("each exclusion is a case of the suite")
    func exclusions() {
        let names = Set(TransportConformance.all.map(\.description))
        #expect(CurlExclusions.table.keys.filter { !names.contains($0) } == [])
    }
}
#endif
