#if URLSession || canImport(Darwin)
import Errand
import ErrandTesting
import Testing

// One case after the other: on Linux Foundation's queues get no thread while the tasks of a program use them all.
@Suite("URLSession does on the wire what every transport must", .serialized, .timeLimit(.minutes(3)))
struct URLSessionConformanceTests {
    private static let cases = TransportConformance.all.filter { URLSessionExclusions.table[$0.description] == nil }

    @Test(arguments: cases)
    func conforms(_ rule: TransportConformance.Case) async throws {
        try await rule.check { URLSessionTransport() }
    }

    @Test("what is excluded is a case of the suite")
    func exclusions() {
        let names = Set(TransportConformance.all.map(\.description))
        #expect(URLSessionExclusions.table.keys.filter { !names.contains($0) } == [])
    }
}
#endif
