import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("Conditions")
struct ConditionTests {
    private let network = scripted()

    private func failure(of endpoint: Endpoint<NoContent>) async throws -> ServiceError {
        try await #require(throws: ServiceError.self) { try await testClient(network).run(endpoint) }
    }

    @Test(
        "a tag is read from a header, from a text without quotes, and from JSON",
        arguments: [
            (#""a1""#, #""a1""#, false), (#"W/"a1""#, #"W/"a1""#, true), ("a1", #""a1""#, false), ("", #""""#, false),
            (#""*""#, #""*""#, false), ("W/a1", #""W/a1""#, false),
        ])
    func tags(text: String, field: String, isWeak: Bool) throws {
        let tag = EntityTag(text)
        #expect(tag.description == field && tag.isWeak == isWeak)
        let json = try JSONEncoder().encode([tag])
        #expect(try JSONDecoder().decode([EntityTag].self, from: json) == [tag])
        #expect(try JSONDecoder().decode([EntityTag].self, from: JSONEncoder().encode([EntityTag.any])) == [.any])
        #expect(tag != .any && EntityTag("*") == .any)
    }

    @Test(
        "the version of a reply is its only tag, if that is well-formed",
        arguments: [(#""a1""#, "a1"), (#"W/"a1""#, #"W/"a1""#), (#""a1", "a2""#, nil), ("a1", nil), (#"w/"a1""#, nil)]
            as [(String, EntityTag?)])
    func replies(field: String, tag: EntityTag?) async throws {
        network.onAny { .status(204, headers: ["ETag": field]) }
        #expect(try await testClient(network).reply(to: Endpoint<NoContent>.get("notes/7")).etag == tag)
    }

    @Test("the conditions of a call are its headers, in its options as well")
    func headers() async throws {
        network.onAny { ScriptedReply.status(204).always }
        let client = testClient(network)
        var options = CallOptions()
        options.ifMatch = .any
        var convertible = Endpoint<NoContent>.put("notes/7")
        convertible.options = options
        try await client.run(convertible)
        try await client.run(Endpoint<NoContent>.put("notes/7").ifMatch("a1").header("If-Match", "other"))
        try await client.run(Endpoint<NoContent>.put("notes/7").ifNoneMatch(.any))
        try await client.run(Endpoint<NoContent>.get("notes/7").ifNoneMatch(#"W/"a1""#))
        let sent = network.sent.map(\.request.headers)
        #expect(sent.map { $0["If-Match"] } == ["*", #""a1""#, nil, nil])
        #expect(sent.map { $0["If-None-Match"] } == [nil, nil, "*", #"W/"a1""#])
    }

    @Test("a weak tag matches nothing, and one with a quote or a control character is none: nothing is sent")
    func refused() async throws {
        let calls: [(Endpoint<NoContent>, String)] = [
            (.put("notes/7").ifMatch(#"W/"a1""#), "weak"), (.put("notes/7").ifMatch(#"a"1"#), "character"),
            (.put("notes/7").ifNoneMatch("a\r\nX: 1"), "character"),
        ]
        for (endpoint, word) in calls {
            guard case .invalidRequest(let invalid) = try await failure(of: endpoint) else { throw Unexpected() }
            #expect(invalid.reason.contains(word))
        }
        #expect(network.sent.isEmpty)
    }

    @Test("a 412 says what it means, and whether an earlier attempt may have made the change")
    func failed() async throws {
        network.onAny {
            ScriptedReply.status(412)
            // Certainly not sent.
            ScriptedReply.failure(.refused)
            ScriptedReply.status(412)
            ScriptedReply.status(503)
            ScriptedReply.status(412)
        }
        let clock = TestClock()
        let client = testClient(network, clock)
        for mayBeOwn in [false, false, true] {
            let error = try await clock.run {
                try await #require(throws: ServiceError.self) {
                    try await client.run(Endpoint<NoContent>.put("notes/7").ifMatch("a1"))
                }
            }
            guard case .rejected(let rejection) = error else { throw error }
            #expect(rejection.isPreconditionFailure && rejection.mayBeOwnChange == mayBeOwn)
            #expect("\(error)".contains("does not hold"))
            #expect("\(error)".contains("earlier attempt") == mayBeOwn)
            #expect(error.localizedDescription(in: "en").hasPrefix("This conflicts with another change."))
        }
    }

    @Test("a condition is not answered by the cache")
    func cached() async throws {
        let stored: HTTPHeaders = ["Cache-Control": "max-age=60", "ETag": #""a1""#]
        network.on(.get, "/notes/7") { ScriptedReply.json("1", headers: stored) }
        network.on(.get, "/notes/7") { ScriptedReply.status(304, headers: ["ETag": #""a1""#]) }
        let client = testClient(network) { $0.cache = .memory(megabytes: 1) }
        let call = Endpoint<Int>.get("notes/7")
        let version = try #require(try await client.reply(to: call).etag)
        #expect(try await client.reply(to: call).etag == version)
        let error = try await #require(throws: ServiceError.self) { try await client.run(call.ifNoneMatch(version)) }
        #expect(error.rejection?.status == 304 && network.sent.count == 2)
    }

    private struct Unexpected: Error {}
}
