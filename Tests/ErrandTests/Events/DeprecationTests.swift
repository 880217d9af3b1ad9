import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("Deprecation and sunset")
struct DeprecationTests {
    private static let run = UUID().uuidString.lowercased()

    /// The announcements that a client of a server of its own reports for some calls.
    private func events(
        of calls: [Endpoint<NoContent>], at host: String, _ headers: HTTPHeaders
    ) async throws -> [Deprecation] {
        // Another one each time that the tests run in a process.
        let host = "\(host)-\(Self.run)"
        let network = scripted()
        network.onAny { ScriptedReply.status(204, headers: headers).always }
        let found = Noted<[Deprecation]>([])
        let client = testClient(network) {
            $0.environment = ServerEnvironment(name: "test", baseURL: "https://\(host).test")
            $0.secretNames = ["sig"]
            $0.observe = { event in
                if case .deprecated(let deprecation) = event.kind {
                    found.update { $0.append(deprecation) }
                    #expect(LogFormatter().line(for: event).contains("the server says that this is \(deprecation)"))
                }
            }
        }
        for call in calls { try await client.run(call) }
        return found.value
    }

    @Test("the headers are read as RFC 9745 and RFC 8594 write them, and in earlier drafts")
    func headers() async throws {
        let (since, gone) = (Date(timeIntervalSince1970: 1_688_169_599), Date(timeIntervalSince1970: 1_719_791_999))
        let sunset = "Sun, 30 Jun 2024 23:59:59 GMT"
        let cases: [(HTTPHeaders, Date?, Date?, String?)] = [
            (["Deprecation": "@1688169599"], since, nil, nil), (["Sunset": sunset], nil, gone, nil),
            (
                [
                    "Deprecation": "@1688169599", "Sunset": sunset,
                    "Link": #"<https://a.test/old?token=x&sig=y>; rel="deprecation""#,
                ], since, gone, "https://a.test/old?token=‹redacted›&sig=‹redacted›"
            ),
            (["Deprecation": "true"], nil, nil, nil),
            (["Deprecation": "Fri, 30 Jun 2023 23:59:59 GMT", "Link": "</b>; rel=sunset"], since, nil, "/b"),
        ]
        for (number, (headers, since, gone, page)) in cases.enumerated() {
            let found = try await events(of: [.get("x")], at: "headers\(number)", headers)
            #expect(found.map(\.since) == [since] && found.map(\.sunset) == [gone] && found.map(\.page) == [page])
        }
        let others: [HTTPHeaders] = [["Deprecation": "soon"], ["Sunset": "1"], ["Deprecation": "?0"], [:]]
        for (number, headers) in others.enumerated() {
            let found = try await events(of: [.get("x")], at: "none\(number)", headers)
            #expect(found.isEmpty, "\(headers)")
        }
    }

    @Test("it is reported once for each endpoint of a server, whatever its values are")
    func once() async throws {
        let ids = [1, 2, 3]
        let calls = ids.flatMap { id in
            [Endpoint<NoContent>.get("users/\(id)"), .put("users/\(id)"), .get("users/\(id)/pets")]
        }
        #expect(try await events(of: calls, at: "once", ["Deprecation": "@1"]).count == 3)
        #expect(try await events(of: calls, at: "once", ["Deprecation": "@1"]).isEmpty)
        #expect(try await events(of: calls, at: "twice", ["Deprecation": "@1"]).count == 3)
    }
}
