#if os(Linux)
import Errand
import ErrandTesting
import Testing

@Suite("libcurl does on the wire what every transport must", .timeLimit(.minutes(3))) struct CurlConformanceTests {
    /// What does not hold yet; some of it does with a newer libcurl.
    private static let known: Set<String> = [
        "C34: an answer of two different lengths is malformed",
        // libcurl 7.88 uses a connection again on which something has come unasked.
        "C34: bytes that come after the answer was taken never reach the next answer",
        // libcurl calls a line of more than 100 KiB a lack of memory, and a head of more than 300 KiB a broken connection.
        "C38: header fields of 256 KiB are a value or a bounded error",
        "C38: an endless head is an error, and is not read without bound",
        // libcurl takes the end of the connection for the end of the packed body.
        "C39: a packed body that breaks off is an error",
        // libcurl sends the request again, for as long as it is refused.
        "C42: a request that expects 100 Continue and is refused ends with its answer",
        // There are no streams yet.
        "C45: the head of an answer is there before its body, and a chunk before the next",
        "C45: a streamed body that breaks off throws where it does",
        "C46: a body that nobody reads is not taken off the network without bound",
        "C47: a request body goes out chunk by chunk, as it comes",
        "C48: letting go of a streamed answer closes its connection",
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
