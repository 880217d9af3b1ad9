import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("Control characters of a server: in no output")
struct ControlCharacterTests {
    /// The JSON escapes of NUL, BEL, BS, ESC, DEL, the C1 control CSI, directional marks, embeddings, overrides and
    /// isolates, and line separators.
    static let words =
        #"a\u0000\u0007\b\u001b[31m\u007f\u009b2J\u200e\u202e\u2066\u061c\ufeff\u2028\u2029\r\n\tz"#

    private func hasControls(_ text: String) -> Bool {
        text.unicodeScalars.contains { scalar in
            scalar.value < 0x20
                || [.control, .lineSeparator, .paragraphSeparator].contains(scalar.properties.generalCategory)
                || scalar.properties.isBidiControl || scalar == "\u{FEFF}"
        }
    }

    private func expectNone(in error: ServiceError, sourceLocation: SourceLocation = #_sourceLocation) {
        let texts = [
            error.description, error.debugDescription, error.localizedDescription, "\(error)",
            String(reflecting: error),
        ]
        for text in texts {
            #expect(!hasControls(text), "\(text.debugDescription)", sourceLocation: sourceLocation)
        }
    }

    @Test(
        "they are escaped in messages, codes, field errors, paths and snippets, in events and in a log",
        arguments: [
            (422, #"{"message":"WORDS"}"#), (422, #"{"message":"x","code":"WORDS"}"#), (503, #"{"error":"WORDS"}"#),
            (429, #"{"message":"WORDS"}"#), (422, #"{"errors":{"WORDS":["WORDS"]}}"#), (200, #"{"WORDS":{"x":"y"}}"#),
            (200, #"["WORDS"]"#),
        ])
    func words(status: Int, body: String) async throws {
        let network = scripted()
        network.onAny { .json(body.replacingOccurrences(of: "WORDS", with: Self.words), status: status) }
        let client = testClient(network, TestClock()) { $0.retry = .never }
        let events = client.diagnostics
        let endpoint = Endpoint<[String: [String: Int]]>.get("x")
        let error = try await #require(throws: ServiceError.self) { try await client.run(endpoint) }
        expectNone(in: error)
        var dumped = ""
        dump(error, to: &dumped)
        #expect(!hasControls(dumped.replacingOccurrences(of: "\n", with: "")))
        await client.shutdown()
        for await event in events {
            #expect(!hasControls(LogFormatter().line(for: event)))
            if let failure = event.failure { expectNone(in: failure) }
        }
        if case .rejected(let rejection) = error {
            let parts =
                [rejection.message, rejection.code].compactMap(\.self) + rejection.fieldErrors.flatMap { [$0] + $1 }
            for part in parts { #expect(!hasControls(part)) }
        }
    }

    @Test("a body's own control characters are escaped in a snippet")
    func snippet() async throws {
        let network = scripted()
        network.onAny { .status(200, body: "\u{1B}[2J\u{9B}\u{202E}\n<html>\u{0}") }
        let client = testClient(network, TestClock())
        let error = try await #require(throws: ServiceError.self) { try await client.run(Endpoint<Int>.get("x")) }
        expectNone(in: error)
        guard case .decodingFailed(let failure) = error else { throw error }
        #expect(failure.snippet == #"\u{1B}[2J\u{9B}\u{202E} <html>\u{0}"#)
    }

    @Test("a line break becomes a space, and other characters stay")
    func readable() async throws {
        let network = scripted()
        network.onAny {
            .json(#"{"message":"Erste\r\nzweite\n\u00c4rger \ud83d\udc69\u200d\ud83d\udcbb"}"#, status: 400)
        }
        let client = testClient(network, TestClock())
        let error = try await #require(throws: ServiceError.self) { try await client.run(Endpoint<Int>.get("x")) }
        #expect(error.localizedDescription == "Erste zweite Ärger 👩‍💻")
    }

    @Test("errors that a user creates, and headers, are escaped when they are shown")
    func byHand() {
        let words = "a\u{1B}[31m\u{202E}\n"
        let failures: [ServiceError] = [
            .rejected(Rejection(status: 400, message: words, code: words, fieldErrors: [words: [words]])),
            .rateLimited(RateLimited(message: words)), .transport(TransportFailure(.other, words)),
            .sessionExpired(SessionExpiry(.refreshRefused, message: words)),
            .invalidRequest(InvalidRequest(.url, words)), .paging(PagingFault(.unreadable, words)),
            .decodingFailed(DecodingFailure(path: words, expected: words, found: words)),
        ]
        for failure in failures { expectNone(in: failure) }
        #expect("\(["X-A": words] as HTTPHeaders)" == #"X-A: a\u{1B}[31m\u{202E} "#)
    }

    @Test("an event of a failure has neither the headers nor the body of the response")
    func content() async throws {
        let network = scripted()
        network.onAny {
            ScriptedReply.status(503, headers: ["X-A": "b"], body: "held")
            ScriptedReply.status(404, headers: ["X-A": "b"], body: "held")
        }
        let client = testClient(network, TestClock()) { $0.retry = RetryPolicy(attempts: 2, base: .zero) }
        let events = client.diagnostics
        let error = try await #require(throws: ServiceError.self) { try await client.run(Endpoint<Int>.get("x")) }
        guard case .rejected(let rejection) = error else { throw error }
        #expect(rejection.body == Data("held".utf8) && rejection.headers["X-A"] == "b")
        await client.shutdown()
        let failures = await events.compactMap(\.failure).reduce(into: []) { $0.append($1) }
        #expect(failures == [.rejected(Rejection(status: 404))])
    }
}
