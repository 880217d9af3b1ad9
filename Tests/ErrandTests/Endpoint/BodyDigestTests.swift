import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("Digests of request bodies", .timeLimit(.minutes(10)))
struct BodyDigestTests {
    private let scratch: Scratch

    init() throws {
        scratch = try Scratch()
    }

    private func put(_ body: RequestBody?) -> Endpoint<NoContent> { .put("x", body: body) }

    private func value(_ body: Data) -> String { "sha-256=:\(FileDigest.sha256(of: body).base64):" }

    @Test("the digest is that of the bytes that are sent: JSON, parameters, a form, data, a file, a form with files")
    func bodies() async throws {
        try scratch.write(String(repeating: "0123456789", count: 120_000), to: "a.txt")
        try scratch.write("", to: "empty.txt")
        let path = scratch.path("a.txt")
        let bodies: [RequestBody] = [
            .json(["name": "Ann"]), .form(["a": "1"]), .data(Data("abc".utf8), contentType: "text/plain"),
            .data(Data(), contentType: "text/plain"),
            .data(Data(repeating: 7, count: 1_500_000), contentType: "text/plain"),
            .file(path), .file(scratch.path("empty.txt")),
            .multipart {
                $0.add("title", "Sunset")
                $0.add("photo", file: path)
            },
        ]
        for body in bodies {
            let sent = try await request(for: put(body).digest(.content))
            #expect(sent.request.headers.values("Content-Digest") == [value(sent.body)], "\(body)")
            #expect(sent.request.headers["Repr-Digest"] == nil)
        }
        let parameters = Endpoint<NoContent>(.post, "x", parameters: ["a": 1]).digest(.content)
        let sent = try await request(for: parameters)
        #expect(sent.request.headers["Content-Digest"] == value(Data(#"{"a":1}"#.utf8)))
    }

    @Test("it is written as RFC 9530 writes it")
    func standard() async throws {
        // The example of RFC 9530, B.1.
        let body = RequestBody.data(Data("{\"hello\": \"world\"}\n".utf8), contentType: "application/json")
        let sent = try await request(for: put(body).digest(.representation))
        #expect(sent.request.headers["Repr-Digest"] == "sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:")
        #expect(sent.request.headers["Content-Digest"] == nil)
    }

    @Test("both are sent if both are asked for, a call replaces those of an earlier one, and its own header stays")
    func choosing() async throws {
        let endpoint = put(.json([1])).digest(.content, .representation)
        let both = try await request(for: endpoint).request.headers
        #expect(both["Content-Digest"] == value(Data("[1]".utf8)) && both["Repr-Digest"] == both["Content-Digest"])
        let one = try await request(for: endpoint.digest(.representation)).request.headers
        #expect(one["Content-Digest"] == nil && one["Repr-Digest"] != nil)
        #expect(try await request(for: endpoint.digest()).request.headers["Repr-Digest"] == nil)
        let own = try await request(for: endpoint.header("Content-Digest", "sha-512=:AA==:")).request.headers
        #expect(own.values("Content-Digest") == ["sha-512=:AA==:"])
    }

    @Test("a call without a body sends none")
    func withoutBody() async throws {
        #expect(try await request(for: put(nil).digest(.content)).request.headers["Content-Digest"] == nil)
        let query = Endpoint<NoContent>(.get, "x", parameters: ["a": 1]).digest(.content)
        #expect(try await request(for: query).request.headers["Content-Digest"] == nil)
    }

    @Test("a stream is refused, alone and in a form, whether it can be opened again or not, and nothing is sent")
    func streams() async throws {
        let chunks = HTTPBody.Chunks { nil }
        for body in [
            RequestBody.stream(contentType: "text/plain", chunks),
            .stream(length: 3, contentType: "text/plain") { HTTPBody.Chunks { nil } },
            .multipart { $0.add("s", stream: .stream(chunks)) },
        ] {
            let invalid = try await refusal(of: put(body).digest(.content))
            #expect(invalid.subject == .configuration, "\(invalid)")
            #expect(invalid.reason.contains("a stream has no digest"), "\(invalid)")
        }
    }

    @Test("a part of a representation has a digest of its content only")
    func part() async throws {
        let endpoint = put(.data(Data("abc".utf8), contentType: "text/plain"))
            .header("Content-Range", "bytes 0-2/6")
        let invalid = try await refusal(of: endpoint.digest(.content, .representation))
        #expect(invalid.reason.contains("send `digest(.content)`"), "\(invalid)")
        let sent = try await request(for: endpoint.digest(.content))
        #expect(sent.request.headers["Content-Digest"] == value(Data("abc".utf8)))
    }

    @Test("a retry sends the same digest")
    func retried() async throws {
        try scratch.write("abc", to: "a.txt")
        let network = scripted()
        network.on(.put, "/x", .status(503), .status(204))
        let clock = TestClock()
        let client = testClient(network, clock)
        let endpoint = put(.file(scratch.path("a.txt"))).digest(.content)
        try await clock.run { try await client.run(endpoint) }
        let digests = network.sent.map { $0.request.headers["Content-Digest"] }
        #expect(digests == [value(Data("abc".utf8)), value(Data("abc".utf8))])
    }

    @Test(
        "a redirect that takes the body along takes the digest along, and one that drops it drops the digest",
        arguments: [(307, true), (308, true), (303, false), (302, false)])
    func redirected(status: Int, keepsBody: Bool) async throws {
        let network = scripted()
        network.on(.post, "/x", .status(status, headers: ["Location": "/y"]))
        network.onAny { .status(204) }
        try await testClient(network).run(
            Endpoint<NoContent>.post("x", body: .json([1])).digest(.content, .representation))
        let headers = try #require(network.sent.last).request.headers
        let expected = keepsBody ? value(Data("[1]".utf8)) : nil
        #expect(headers["Content-Digest"] == expected && headers["Repr-Digest"] == expected)
    }

    @Test(
        "D10 a file that is not what it was when its digest was computed is not sent",
        arguments: [Change.shrinks, .grows, .isRewritten, .isReplaced, .vanishes])
    func changed(change: Change) async throws {
        try scratch.write("0123456789", to: "a.txt")
        let path = scratch.path("a.txt")
        let network = scripted()
        // The call waits for its permit after it has read the file.
        let clock = TestClock()
        let limiter = RateLimiter(.requests(1, per: .seconds(1)), time: clock)
        let client = testClient(network, clock) { $0.limiter = limiter }
        network.on(.get, "/first", .status(204))
        try await client.run(.get("first"))
        let call = Task { try await client.run(.put("x", body: .file(path)).digest(.content)) }
        await clock.sleepers(atLeast: 1)
        try change.happen(to: path)
        await clock.advance(by: .seconds(1))
        let error = try await #require(throws: ServiceError.self) { try await call.value }
        guard case .transport(let failure) = error else { throw error }
        #expect(failure.kind == .file, "\(failure)")
        #expect(network.sent.count == 1)
    }

    @Test("an explanation names the digests, and does not show them")
    func explained() {
        let text = testClient(scripted()).explain(put(.json([1])).digest(.content, .representation))
        #expect(text.contains("digests:     Content-Digest, Repr-Digest with a SHA-256 of the body"))
        #expect(!text.contains("sha-256=:"))
        #expect(!testClient(scripted()).explain(put(nil).digest(.content)).contains("digests"))
    }
}
