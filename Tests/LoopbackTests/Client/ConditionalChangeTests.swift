import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

/// Conditions and patches against a server that keeps one note, and its version.
@Suite("Changes under a condition", .timeLimit(.minutes(10)))
struct ConditionalChangeTests {
    private struct Note: Codable, Sendable, Equatable {
        var title: String
        var text: String?
    }

    /// What the server has.
    private struct Kept: Sendable {
        var note: [String: JSONValue]?
        var version = 0

        var tag: String { "\"\(version)\"" }

        /// Whether the conditions of a request hold.
        func allows(_ headers: HTTPHeaders) -> Bool {
            if let wanted = headers["If-Match"], note == nil || wanted != "*" && wanted != tag { return false }
            if let unwanted = headers["If-None-Match"], note != nil && (unwanted == "*" || unwanted == tag) {
                return false
            }
            return true
        }

        /// Answers a request.
        mutating func answer(_ request: LoopbackRequest) throws -> LoopbackReply {
            guard allows(request.headers) else { return .status(request.method == .get ? 304 : 412) }
            switch request.method {
            case .put, .patch:
                let change = try JSONDecoder().decode([String: JSONValue].self, from: request.body)
                let isPatch = request.headers["Content-Type"] == "application/merge-patch+json"
                var members = isPatch ? note ?? [:] : [:]
                for (name, value) in change { members[name] = value.isNull ? nil : value }
                note = members
                version += 1
                return .status(204, headers: ["ETag": tag])
            default:
                guard let note else { return .status(404) }
                let json = try JSONEncoder().encode(note)
                return .json(String(decoding: json, as: UTF8.self), headers: ["ETag": tag])
            }
        }
    }

    private let server: LoopbackServer
    private let kept = Noted(Kept())
    /// How many responses are lost.
    private let losses = Noted(0)
    private let client: APIClient
    private let call = Endpoint<Note>.get("note")

    init() throws {
        server = try LoopbackServer()
        client = APIClient(server.baseURL) {
            $0.rateLimit = .unlimited
            $0.retry = RetryPolicy(attempts: 3, base: .milliseconds(1))
            // Real time: a busy machine must not fail the test.
            $0.timeout = .seconds(60)
        }
        server.onAny { [kept, losses] request in
            var reply: LoopbackReply?
            kept.update { reply = try? $0.answer(request) }
            guard losses.value == 0 else {
                losses.update { $0 -= 1 }
                return .close
            }
            return reply ?? .status(400)
        }
    }

    private func rejection(of call: Endpoint<NoContent>) async throws -> Rejection {
        let error = try await #require(throws: ServiceError.self) { try await client.run(call) }
        return try #require(error.rejection)
    }

    @Test("a note is created once, and changed only by who has seen its last version")
    func versions() async throws {
        let note = Note(title: "Milk", text: "two")
        let create = Endpoint<NoContent>.put("note", body: .json(note)).ifNoneMatch(.any)
        try await client.run(create)
        #expect(try await rejection(of: create).isPreconditionFailure)
        let reply = try await client.reply(to: call)
        let version = try #require(reply.etag)
        var changed = reply.value
        (changed.title, changed.text) = ("Bread", nil)
        let patch = Endpoint<NoContent>.patch("note", body: .mergePatch(from: note, to: changed)).ifMatch(version)
        let newer = try #require(try await client.reply(to: patch).etag)
        #expect(newer != version && kept.value.note == ["title": "Bread"])
        let late = try await rejection(of: patch)
        #expect(late.isPreconditionFailure && !late.mayBeOwnChange && late.headers.etag == nil)
        let unchanged = try await #require(throws: ServiceError.self) { try await client.run(call.ifNoneMatch(newer)) }
        #expect(unchanged.rejection?.status == 304)
        try await client.run(Endpoint<NoContent>.put("note", body: .json(note, explicitNulls: true)).ifMatch(.any))
        #expect(try await client.run(call.ifNoneMatch(newer)) == note)
    }

    @Test("a change whose response is lost is told from that of another")
    func lostResponse() async throws {
        losses.value = 1
        let rejection = try await rejection(of: .put("note", body: .json(Note(title: "Milk"))).ifNoneMatch(.any))
        #expect(rejection.isPreconditionFailure && rejection.mayBeOwnChange && kept.value.version == 1)
        #expect(server.received.count == 2)
    }
}
