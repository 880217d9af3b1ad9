#if os(Linux)
import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

/// The cases that are about more than HTTP/1.1's own framing, over HTTP/3. A server of aioquic passes the requests on
/// to the case's `LoopbackServer`, so what only that server sends has become something else by then.
@Suite(
    "Transport conformance of libcurl over HTTP/3", .enabled(if: HTTP3Server.isAvailable, HTTP3Server.isMissing),
    .timeLimit(.minutes(10)))
struct CurlHTTP3ConformanceTests {
    /// Not C21, C48 and D10, which are about the server's end of what was cancelled: see `lateResets`.
    private static let numbers: Set<String> = [
        "C20", "C22", "C23", "C24", "C25", "C32", "C33", "C37", "C39", "C40", "C42", "C43", "C45", "C46", "C47", "C50",
        "C52", "C53", "C60", "C61", "D11", "D13", "D17",
    ]
    private static let cases = TransportConformance.all.filter { rule in
        numbers.contains(rule.number) && exclusions[rule.description] == nil
    }

    /// What is left out, each with the reason.
    private static let exclusions = [
        "C22: a hundred calls that are canceled at once end, all of them canceled": lateResets,
        "C40: an endless body without a length is too large, and is not read without bound": lateResets,
        "C40: an endless body in chunks is too large, and is not read without bound": lateResets,
        "C37: a 204 has no body, and the connection goes on": ownConnections,
        "C37: a 304 with a length has no body, and the connection goes on": ownConnections,
        "C37: a reply to HEAD with a length has no body, and the connection goes on": ownConnections,
        "C45: a streamed body is what was sent, and the connection goes on": ownConnections,
        "C42: a request goes out as it was made, and nothing is added that changes its meaning":
            "the server in front of the backend has another address",
        "C40: an endless body of a length beyond all bounds is too large, and is not read without bound":
            "nghttp3 ends a connection on which such a length comes",
    ]
    private static let lateResets = "libcurl may reset a stream only with the next request on its connection"
    private static let ownConnections = "each request has a connection of its own to the backend"

    @Test("each exclusion is a case of the suite")
    func exclusionsExist() {
        let names = Set(TransportConformance.all.map(\.description))
        #expect(Self.exclusions.keys.filter { !names.contains($0) } == [])
    }

    @Test(arguments: cases)
    func conforms(_ rule: TransportConformance.Case) async throws {
        let authority = try await TestAuthority()
        let server = try await HTTP3Server(authority)
        try await rule.check {
            HTTP3Front(server: server, transport: authority.transport { $0.http3 = .assumed })
        }
    }
}
#endif
