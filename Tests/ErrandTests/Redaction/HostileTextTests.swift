import Foundation
import Testing

@testable import Errand

/// Returns the processor time of the thread. Other threads and a busy machine do not count.
private func cpuTime() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

@Suite("Hostile texts: the work is proportional to their length")
struct HostileTextTests {
    /// Patterns that caused, or could cause, work that grows with the square of the length.
    static let texts = [
        "\u{1F1E6}", "\"", "\\", "{", "bearer ", "\u{301}", "%25", "&", "+", "=", "//", "\":", "password=", "\"pin\":",
        "<",
        ";", " ", "👩‍", "0123456789",
    ]

    /// Times the work for a text and for one four times as long: linear work takes 4 times as long, quadratic work 16
    /// times.
    private func expectProportion(_ text: String, _ name: String, _ work: (String) -> Void) {
        let lengths = [1 << 12, 1 << 14]
        let times = lengths.map { length in
            let long = String(repeating: text, count: length / text.utf8.count)
            return (0..<2).map { _ in
                let start = cpuTime()
                work(long)
                return cpuTime() - start
            }.min() ?? 0
        }
        // Work that takes almost no time has no meaningful factor.
        #expect(times[1] < max(0.02, times[0] * 10), "\(name) of \(text.debugDescription): \(times)")
    }

    @Test("C90: redaction", arguments: texts)
    func redaction(text: String) {
        let redactor = Redactor(hiding: [String(repeating: text, count: 40) + "x", "aaaaaaaaab"])
        expectProportion(text, "text") { _ = redactor.text($0) }
        expectProportion(text, "URL") { _ = redactor.text(ofURL: $0) }
        expectProportion(text, "printable") { _ = $0.printable }
    }

    @Test(
        "C70: the server's message in an error, and the position where a response cannot be decoded", arguments: texts)
    func answers(text: String) {
        let interpreter = ResponseInterpreter(
            decoder: JSONDecoder(), acceptedContentTypes: ["application/json"], time: .system)
        func interpret(_ status: Int, _ body: Data) {
            let response = HTTPResponse(status: status, body: .bytes(body))
            let redactor = Redactor(hiding: ["hunter2-7c"])
            let error = #expect(throws: ServiceError.self) {
                try interpreter.value([String: [Int]].self, below: [], in: response) { redactor }
            }
            _ = error?.debugDescription
        }
        func json(_ text: String) -> String {
            (try? JSONEncoder().encode(text)).map { String(decoding: $0, as: UTF8.self) } ?? ""
        }
        expectProportion(text, "message") { interpret(422, Data("{\"message\":\(json($0))}".utf8)) }
        expectProportion(text, "field") { interpret(422, Data("{\"errors\":{\(json($0)):\(json($0))}}".utf8)) }
        expectProportion(text, "name") { interpret(200, Data("{\(json($0)):7}".utf8)) }
        expectProportion(text, "page") { interpret(200, Data($0.utf8)) }
    }

    @Test("headers: dates, pauses, links and URLs", arguments: texts)
    func headers(text: String) {
        let now = Date(timeIntervalSince1970: 1_700_000_000)
        expectProportion(text, "date") { _ = HTTPDate.parse("Sun, \($0)", now: now) }
        expectProportion(text, "pause") { value in
            for name in ["Retry-After", "RateLimit"] {
                _ = RetryAfterHeaders.pause(after: HTTPResponse(status: 429, headers: [name: "r;\(value)"]), date: now)
            }
        }
        expectProportion(text, "link") { _ = LinkHeader.next(in: ["<a>; rel=\"\($0)\"", $0]) }
        expectProportion(text, "URL") { value in
            for text in ["https://\(value)", "https://x.test/\(value)", "https://x.test/?\(value)"] {
                _ = try? HTTPURL(text)
            }
        }
        expectProportion(text, "description") { _ = "\(["X-A": $0, "Location": $0] as HTTPHeaders)" }
    }

    @Test("a token response", arguments: texts)
    func token(text: String) {
        expectProportion(text, "answer") { value in
            let text = ["access_token": value, "scope": value, "expires_in": value]
            guard let data = try? JSONEncoder().encode(text) else { return }
            _ = try? JSONDecoder().decode(OAuthAnswer.self, from: data)
        }
    }
}
