@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("Secrets: streams, events, downloads and lists", .timeLimit(.minutes(10)))
struct StreamSecretsTests: EventScene {
    let clock = TestClock()
    let network = scripted()

    private static let echo = Planted.sent.joined(separator: " ")

    /// Headers and a query with each of the secrets.
    private func endpoint<Response>(_ path: EndpointPath) -> Endpoint<Response> {
        .get(
            path, query: ["api_key": Planted.apiKey],
            headers: [
                "Authorization": Planted.basic, "Cookie": "sid=\(Planted.password)", "X-Partner": Planted.partner,
                "X-Token": Planted.access,
            ])
    }

    /// Runs the body with a client, and looks for secrets in all that its listeners receive.
    private func checkingEvents(_ body: @Sendable (APIClient) async throws -> Void) async throws {
        let events = Noted<[ClientEvent]>([])
        let client = client {
            $0.secretNames = ["X-Partner"]
            $0.retry = .never
            $0.observe = { event in events.update { $0.append(event) } }
        }
        try await clock.run {
            try await body(client)
            await client.shutdown()
        }
        for event in events.value { expectNoSecret(printed(event) + LogFormatter().line(for: event), "event") }
    }

    private func check(_ error: ServiceError?, _ place: String) {
        guard let error else { return }
        expectNoSecret(printed(error) + error.localizedDescription, place)
        expectPlain(printed(error), place)
    }

    /// Records an issue if the text has raw control characters, or is longer than anybody reads.
    private func expectPlain(_ text: String, _ place: String) {
        let isPlain = text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F || $0 == "\n" }
        #expect(isPlain, "a control character in \(place)")
        #expect(text.utf8.count < 8_000, "\(text.utf8.count) bytes in \(place)")
    }

    @Test(
        "C90: the identifier of an event enters an error without secrets and control characters, and cut",
        arguments: [
            "\(echo)\u{1B}[2J\u{7}", String(repeating: "x", count: 1_000_000) + echo,
            String(repeating: "\(Planted.apiKey)\u{8}", count: 50_000),
        ])
    func identifier(id: String) async throws {
        network.onAny { connection("id: \(id)\ndata: x\n\n") }
        try await checkingEvents { client in
            let error = await #expect(throws: ServiceError.self) {
                for try await _ in client.events(endpoint("feed"), of: Int.self) {}
            }
            guard case .decodingFailed(let failure) = error else { throw try #require(error) }
            #expect(failure.description.contains("in the event with the identifier"))
            check(error, "an event's identifier")
        }
    }

    @Test("C90: a content type that repeats a secret, or goes on and on, is not in an error")
    func contentType() async throws {
        let types = ["text/\(Self.echo)", "text/" + String(repeating: "x", count: 100_000), "a\u{1B}b"]
        for type in types {
            let headers: HTTPHeaders = ["Content-Type": type]
            network.on(.get, "/feed?api_key=\(Planted.apiKey)", .chunks([Data("x".utf8)], headers: headers))
            network.on(.get, "/x?api_key=\(Planted.apiKey)", .status(200, headers: headers, body: "x"))
        }
        try await checkingEvents { client in
            for _ in types {
                let first = await #expect(throws: ServiceError.self) {
                    for try await _ in client.events(endpoint("feed")) {}
                }
                check(first, "the content type of a stream")
                let call: Endpoint<Int> = endpoint("x")
                let second = await #expect(throws: ServiceError.self) { try await client.run(call) }
                check(second, "the content type of a response")
            }
        }
    }

    @Test("C90: lines and rows that cannot be read show no secret")
    func rows() async throws {
        let row = #"{"\#(Self.echo)": {"password": "\#(Planted.password)", "x": "\#(Planted.access)"}}"# + "\n"
        network.onAny { ScriptedReply.chunks([Data(row.utf8)]).times(2) }
        try await checkingEvents { client in
            for limit in [10, 10_000] {
                let response = try await client.stream(endpoint("log") as Endpoint<Data>)
                let lines = response.lines(maximumLength: limit)
                let error = await #expect(throws: ServiceError.self) {
                    let rows = StreamedResponse.Rows<[String: [String: Int]]>(
                        lines: lines, decoding: response.decoding)
                    for try await _ in rows {}
                }
                check(error, "a row")
            }
        }
    }

    @Test("C90: what streams, events and lists are made of prints without secrets")
    func values() async throws {
        network.onAny {
            connection("id: 1\ndata: 1\n\n", then: .isSilent).times(2)
            ScriptedReply.json("[1]")
        }
        try await checkingEvents { client in
            let response = try await client.stream(endpoint("feed") as Endpoint<Data>)
            for (name, value) in [
                ("response", response), ("chunks", response.chunks), ("lines", response.lines),
                ("rows", response.decoded(Int.self)), ("reader", response.chunks.makeAsyncIterator()),
                ("line reader", response.lines.makeAsyncIterator()),
            ] as [(String, Any)] { expectNoSecret(printed(value), name) }
            let events = client.events(endpoint("feed"), after: "7")
            var iterator = events.makeAsyncIterator()
            expectNoSecret(printed(try #require(try await iterator.next())), "event")
            let items = client.items(of: endpoint("list") as Endpoint<[Int]>, by: .link)
            var pages = client.pages(of: endpoint("list") as Endpoint<[Int]>, by: .link).makeAsyncIterator()
            let page = try await pages.next()
            for (name, value) in [
                ("events", events), ("messages", events.decoded(Int.self)), ("event reader", iterator),
                ("items", items), ("item reader", items.makeAsyncIterator()), ("pages", pages), ("page", page as Any),
            ] as [(String, Any)] { expectNoSecret(printed(value), name) }
        }
    }

    @Test("C90: a position that is no URL shows neither secrets nor all of its length")
    func position() async throws {
        let next = "https://api.test/a b?X-Partner=\(Planted.partner)&api_key=\(Planted.apiKey)"
        network.page("/feed?sort=new", Feed(next: next))
        network.page("/feed?sort=new", Feed(next: "a b" + String(repeating: "x", count: 100_000)))
        let client = client { $0.secretNames = ["X-Partner"] }
        for _ in 0..<2 {
            let reading = await Reading(client.items(of: .feed, in: \.items, by: .nextURL(\.next)))
            let error = try #require(reading.error)
            check(error.error, "a position")
            expectNoSecret("\(error)", "a position")
        }
    }

    @Test("C90: a download whose server repeats what was sent shows none of it")
    func download() async throws {
        let scratch = try Scratch()
        let headers: HTTPHeaders = ["X-Echo": Self.echo, "Location": "ftp://x/\(Planted.access)?q=\(Planted.partner)"]
        network.onAny {
            ScriptedReply.status(403, headers: headers, body: #"{"message": "\#(Self.echo)"}"#)
            ScriptedReply.status(302, headers: headers)
            ScriptedReply.status(
                200, headers: ["Repr-Digest": "sha-256=:AAAA:"], body: String(repeating: "x", count: 5000)
            ).thenFailure()
            ScriptedReply.status(404, headers: headers)
        }
        try await checkingEvents { client in
            for _ in 0..<3 {
                let error = await #expect(throws: ServiceError.self) {
                    try await client.download(endpoint("app.zip"), to: scratch.path("app.zip"))
                }
                check(error, "a download")
                if case .rejected(let rejection) = error { expectNoSecret(printed(rejection.headers), "headers") }
            }
        }
    }
}
