import ErrandTestSupport
import Foundation
import Testing

@testable import Errand

@Suite("Hostile texts: the work is proportional to their length", .timeLimit(.minutes(10)))
struct HostileTextTests {
    /// Patterns that caused, or could cause, work that grows with the square of the length.
    static let texts = [
        "\u{1F1E6}", "\"", "\\", "{", "bearer ", "\u{301}", "%25", "&", "+", "=", "//", "\":", "password=", "\"pin\":",
        "<",
        ";", " ", "👩‍", "0123456789",
    ]

    /// The length of the shorter texts.
    private static let length = LongRun.isWanted ? 1 << 12 : 1 << 9

    /// Times the work for a text and for one four times as long: linear work takes 4 times as long, quadratic work 16
    /// times.
    private func expectProportion(_ text: String, _ name: String, _ work: @Sendable (String) -> Void) async {
        let factor = await OwnThread.run {
            Growth.factor(
                { String(repeating: text, count: $0 / text.utf8.count) }, size: Self.length, upTo: 10, ignoring: 0.002,
                work)
        }
        #expect(factor <= 10, "\(name) of \(text.debugDescription)")
    }

    @Test("C90: redaction", arguments: texts)
    func redaction(text: String) async {
        let redactor = Redactor(hiding: [String(repeating: text, count: 40) + "x", "aaaaaaaaab"])
        await expectProportion(text, "text") { _ = redactor.text($0) }
        await expectProportion(text, "URL") { _ = redactor.text(ofURL: $0) }
        await expectProportion(text, "printable") { _ = $0.printable }
    }

    @Test(
        "C70: the server's message in an error, and the position where a response cannot be decoded", arguments: texts)
    func answers(text: String) async {
        let interpreter = ResponseInterpreter(
            decoder: JSONDecoder(), acceptedContentTypes: ["application/json"], time: .system)
        @Sendable func interpret(_ status: Int, _ body: Data) {
            let response = HTTPResponse(status: status, body: .bytes(body))
            let redactor = Redactor(hiding: ["hunter2-7c"])
            let error = #expect(throws: ServiceError.self) {
                try interpreter.value([String: [Int]].self, below: [], in: response) { redactor }
            }
            _ = error?.debugDescription
        }
        @Sendable func json(_ text: String) -> String {
            (try? JSONEncoder().encode(text)).map { String(decoding: $0, as: UTF8.self) } ?? ""
        }
        await expectProportion(text, "message") { interpret(422, Data("{\"message\":\(json($0))}".utf8)) }
        await expectProportion(text, "field") { interpret(422, Data("{\"errors\":{\(json($0)):\(json($0))}}".utf8)) }
        await expectProportion(text, "name") { interpret(200, Data("{\(json($0)):7}".utf8)) }
        await expectProportion(text, "page") { interpret(200, Data($0.utf8)) }
    }

    @Test("headers: dates, pauses, links and URLs", arguments: texts)
    func headers(text: String) async {
        let now = Date(timeIntervalSince1970: 1_700_000_000)
        await expectProportion(text, "date") { _ = HTTPDate.parse("Sun, \($0)", now: now) }
        await expectProportion(text, "pause") { value in
            for name in ["Retry-After", "RateLimit"] {
                _ = RetryAfterHeaders.pause(after: HTTPResponse(status: 429, headers: [name: "r;\(value)"]), date: now)
            }
        }
        await expectProportion(text, "link") { _ = LinkHeader.next(in: ["<a>; rel=\"\($0)\"", $0]) }
        await expectProportion(text, "URL") { value in
            for text in ["https://\(value)", "https://x.test/\(value)", "https://x.test/?\(value)"] {
                _ = try? HTTPURL(text)
            }
        }
        await expectProportion(text, "description") { _ = "\(["X-A": $0, "Location": $0] as HTTPHeaders)" }
    }

    @Test("a token response", arguments: texts)
    func token(text: String) async {
        await expectProportion(text, "answer") { value in
            let text = ["access_token": value, "scope": value, "expires_in": value]
            guard let data = try? JSONEncoder().encode(text) else { return }
            _ = try? JSONDecoder().decode(OAuthAnswer.self, from: data)
        }
    }
}
