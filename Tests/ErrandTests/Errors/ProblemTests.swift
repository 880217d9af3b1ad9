import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("Problem details")
struct ProblemTests {
    /// The example of RFC 9457, section 3.
    private static let credit =
        #"{"type":"https://example.com/probs/out-of-credit","title":"You do not have enough credit.","#
        + #""detail":"Your current balance is 30, but that costs 50.","instance":"/account/12345/msgs/abc","#
        + #""balance":30,"accounts":["/account/12345","/account/67890"]}"#

    private struct OutOfCredit: Decodable, Sendable, Equatable {
        var balance: Int
        var accounts: [String]
    }

    private func rejection(
        _ body: String, _ type: String = "application/problem+json; charset=utf-8",
        _ configure: (inout Configuration) -> Void = { _ in }
    ) async throws -> Rejection {
        let network = scripted()
        network.onAny { .status(403, headers: ["Content-Type": type], body: body) }
        let error = await #expect(throws: ServiceError.self) {
            try await testClient(network, TestClock(), configure).run(.get("x"))
        }
        return try #require(error?.rejection)
    }

    @Test("the example of RFC 9457, with the members of its own")
    func example() async throws {
        let rejection = try await rejection(Self.credit)
        let problem = try #require(rejection.problem)
        #expect(problem.type == "https://example.com/probs/out-of-credit" && problem.status == nil)
        #expect(problem.title == "You do not have enough credit.")
        #expect(problem.detail == "Your current balance is 30, but that costs 50.")
        #expect(problem.instance == "/account/12345/msgs/abc" && rejection.message == problem.detail)
        let own = try rejection.decodeBody(as: OutOfCredit.self)
        #expect(own == OutOfCredit(balance: 30, accounts: ["/account/12345", "/account/67890"]))
    }

    @Test("members of another type count as missing, and a problem without a type is about:blank")
    func members() async throws {
        let problem = try #require(try await rejection(#"{"type":7,"title":[],"status":403,"detail":null}"#).problem)
        #expect(problem.type == "about:blank" && problem.status == 403)
        #expect(problem.title == nil && problem.detail == nil && problem.instance == nil)
    }

    @Test("another content type, or a body that is no object, is no problem")
    func others() async throws {
        #expect(try await rejection(Self.credit, "application/json").problem == nil)
        #expect(try await rejection("[1]").problem == nil)
        #expect(try await rejection("<p>").problem == nil)
    }

    @Test("its texts have no secrets that the call has sent, and no control characters")
    func secrets() async throws {
        let body = #"{"title":"no t0p-secret\u001b[2J","detail":"?key=t0p-secret"}"#
        let rejection = try await rejection(body, "application/problem+json") { $0.credentials = .bearer("t0p-secret") }
        let problem = try #require(rejection.problem)
        #expect(problem.title == "no ‹redacted›\\u{1B}[2J" && problem.detail == "?key=‹redacted›")
    }

    private enum Refusal: Decodable, Sendable, Equatable {
        case declined, other
        init(from decoder: any Decoder) throws {
            struct Body: Decodable { var code: String }
            self = try Body(from: decoder).code == "card_declined" ? .declined : .other
        }
    }

    @Test("an API's own errors are decoded in one line for a client, also below a key")
    func details() async throws {
        let body = #"{"error":{"code":"card_declined"}}"#
        let details = ErrorDetails.decoding(Refusal.self, below: "error")
        let refused = try await rejection(body, "application/json") { $0.errorDetails = details }
        #expect(refused.details() == Refusal.declined)
        let page = try await rejection("<p>", "text/html") { $0.errorDetails = details }
        #expect(page.details(as: Refusal.self) == nil)
        let reading = ErrorDetails.reading { $0.status }
        #expect(try await rejection(body) { $0.errorDetails = reading }.details(as: Int.self) == 403)
        #expect(try await rejection(body).details(as: Refusal.self) == nil)
    }
}
