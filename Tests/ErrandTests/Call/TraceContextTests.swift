import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("Traces", .timeLimit(.minutes(10)))
struct TraceContextTests {
    private static let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    private let network = ScriptedTransport()

    private var trace: TraceContext {
        get throws { try #require(TraceContext(parent: Self.parent, state: "vendor=1")) }
    }

    /// The trace, the sampled flag and the state of each request that was sent, without the identifiers of the sends.
    private var carried: [String?] {
        network.sent.map { sent in
            let headers = sent.request.headers
            guard let trace = TraceContext(parent: headers["traceparent"] ?? "") else { return headers["traceparent"] }
            return "\(trace.traceID) \(trace.isSampled) \(headers["tracestate"] ?? "")"
        }
    }

    private let expected = "0af7651916cd43dd8448eb211c80319c true vendor=1"

    @Test("each send carries the trace with an identifier of its own: retries, redirects, streams and pages")
    func sends() async throws {
        network.on(.get, "/a", .status(503), .status(302, headers: ["Location": "/b"]))
        network.on(.get, "/b", .json("1"))
        network.on(.get, "/stream", .json("1"))
        network.on(.get, "/list?page=1", .json("[1]"))
        network.on(.get, "/list?page=2", .json("[]"))
        let clock = TestClock()
        let client = testClient(network, clock)
        try await TraceContext.$current.withValue(try trace) {
            #expect(try await clock.run { try await client.run(Endpoint<Int>.get("a")) } == 1)
            for try await _ in try await client.stream(.get("stream")).chunks {}
            for try await _ in client.items(of: Endpoint<[Int]>.get("list"), by: .number("page")) {}
        }
        #expect(carried == Array(repeating: expected, count: 6))
        let ids = network.sent.compactMap { TraceContext(parent: $0.request.headers["traceparent"] ?? "")?.parentID }
        #expect(Set(ids).count == 6 && !ids.contains("b7ad6b7169203331"))
    }

    @Test("run(in:) carries the trace, or none, and keeps the type of the error")
    func running() async throws {
        network.on(.get, "/a", .json("1"), .json("2"), .status(404))
        let (client, given) = (testClient(network), try trace)
        do throws(ServiceError) {
            let answers = try await TraceContext.run(in: given) { () async throws(ServiceError) in
                let first = try await client.run(Endpoint<Int>.get("a"))
                return try await TraceContext.run(in: nil) { () async throws(ServiceError) in
                    [first, try await client.run(Endpoint<Int>.get("a"))]
                }
            }
            #expect(answers == [1, 2] && TraceContext.current == nil)
            _ = try await TraceContext.run(in: given) { () async throws(ServiceError) in
                try await client.run(Endpoint<Int>.get("a"))
            }
            Issue.record("a rejected call has an answer")
        } catch {
            #expect(error.status == 404)
        }
        #expect(carried.map { $0?.prefix(8) } == ["0af76519", nil, "0af76519"])
    }

    @Test("without a trace there is no header; a header of the request's own stays")
    func without() async throws {
        network.on(.get, "/a", .json("1"), .json("1"))
        let client = testClient(network)
        _ = try await client.run(Endpoint<Int>.get("a"))
        let own = Endpoint<Int>.get("a", headers: ["traceparent": "mine"])
        _ = try await TraceContext.$current.withValue(try trace) { try await client.run(own) }
        #expect(carried == [nil, "mine"])
        #expect(network.sent.allSatisfy { $0.request.headers["tracestate"] == nil })
    }

    @Test("a redirect to another origin carries no trace")
    func otherOrigin() async throws {
        network.on(.get, "/a", .status(302, headers: ["Location": "https://other.test/b"]))
        network.on(.get, "https://other.test/b", .json("1"))
        let client = testClient(network)
        _ = try await TraceContext.$current.withValue(try trace) { try await client.run(Endpoint<Int>.get("a")) }
        #expect(carried == [expected, nil])
    }

    @Test("a trace that begins here has random identifiers, and says whether it is sampled")
    func beginning() throws {
        let (first, second) = (TraceContext(), TraceContext(isSampled: false))
        #expect(first.traceID != second.traceID && first.parentID != second.parentID)
        #expect("\(first)".hasSuffix("-01") && "\(second)".hasSuffix("-00"))
        for trace in [first, second] { #expect(TraceContext(parent: "\(trace)") == trace) }
    }

    /// The parent, with another version and other flags, and with something behind it.
    private static func parent(version: String = "00", flags: String = "01", _ more: String = "") -> String {
        "\(version)-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-\(flags)\(more)"
    }

    @Test("what a header of a later version begins with is read; flags that are unknown are left out")
    func wellFormed() {
        for header in [
            Self.parent, " \(Self.parent)\t", Self.parent(version: "cc"), Self.parent(version: "cc", "-what-comes"),
            Self.parent(flags: "ff"),
        ] {
            #expect(TraceContext(parent: header)?.description == Self.parent)
        }
        #expect(TraceContext(parent: Self.parent(flags: "02"))?.description == Self.parent(flags: "00"))
    }

    @Test(
        "a malformed header is none",
        arguments: [
            "", "00", parent(version: "ff"), parent(version: "0"), parent("-more"), parent("-"), parent(flags: "+1"),
            parent(flags: "0"), parent(version: "cc", ".more"), parent.uppercased(),
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-0af7651916cd43dd8448eb211c80319-b7ad6b7169203331-01",
            "00_0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        ])
    func malformed(header: String) {
        #expect(TraceContext(parent: header) == nil)
    }

    @Test("a state that no header can have is ignored", arguments: ["", "a=1\r\nX: y", " a=1"])
    func state(_ state: String) {
        #expect(TraceContext(parent: Self.parent, state: state)?.state == nil)
    }
}
