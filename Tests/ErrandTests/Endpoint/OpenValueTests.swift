import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("Enumerations with unknown cases")
struct OpenValueTests {
    private enum Status: String, Sendable { case active, closed }
    private enum Level: Int, Sendable { case low = 1 }

    private struct Account: Codable, Sendable, Equatable {
        var status: Open<Status>
        var level: Open<Level>?
        var past: [Open<Status>] = []
    }

    @Test("known and unknown values are decoded, and encoded as they came")
    func decoding() throws {
        let json = #"{"level":7,"past":["active","frozen"],"status":"closed"}"#
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        for decoder in [FastJSONDecoder(), JSONDecoder()] as [any ResponseDecoder] {
            let account = try decoder.decode(Account.self, from: Data(json.utf8), below: [])
            #expect(account.status == .known(.closed))
            #expect(account.status == Status.closed && account.status != Status.active)
            #expect(account.level == .unknown(7) && account.level?.value == nil)
            #expect(account.past == [.known(.active), .unknown("frozen")])
            #expect(String(decoding: try encoder.encode(account), as: UTF8.self) == json)
        }
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(Account.self, from: Data(#"{"status":1,"past":[]}"#.utf8))
        }
    }

    @Test("values are equal by their raw values, and may stand in paths, queries and JSON")
    func uses() async throws {
        #expect(Open<Status>.unknown("active") == .known(.active))
        #expect(Open<Status>(rawValue: "active") == .known(.active))
        #expect(Set([Open<Status>.unknown("active"), .known(.active)]).count == 1)
        let network = scripted()
        network.onAny { .status(204) }
        let status = Open<Status>.unknown("frozen")
        try await testClient(network).run(
            .post("lists/\(status)", query: ["then": Open<Status>.known(.closed)], body: .json(["is": status])))
        let request = try #require(network.sent.first?.request)
        #expect(request.url.path == "/lists/frozen" && request.url.query == "then=closed")
        #expect(request.body?.bytes == Data(#"{"is":"frozen"}"#.utf8))
    }
}
