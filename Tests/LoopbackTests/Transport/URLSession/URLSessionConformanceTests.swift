#if URLSession || canImport(Darwin)
import Errand
import ErrandTesting
import Testing

// Serialized: on Linux, Foundation's queues get no thread while a program's tasks use all of them.
@Suite("Transport conformance of URLSession", .serialized, .timeLimit(.minutes(10)))
struct URLSessionConformanceTests {
    private static let cases = TransportConformance.all.filter { URLSessionExclusions.table[$0.description] == nil }

    @Test(arguments: cases)
    func conforms(_ rule: TransportConformance.Case) async throws {
        try await rule.check { URLSessionTransport() }
    }
}
#endif
