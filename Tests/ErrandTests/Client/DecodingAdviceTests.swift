import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("Decoding failures: the option of the decoder that would help")
struct DecodingAdviceTests {
    private struct User: Decodable, Sendable {
        var createdAt: Date
    }

    private struct Named: Decodable, Sendable {
        var createdAt: String

        enum CodingKeys: String, CodingKey {
            case createdAt = "created_at"
        }
    }

    private static let decoders: [any ResponseDecoder] = [FastJSONDecoder(), JSONDecoder()]

    /// Returns what is printed of the error with which a call ends.
    private func text<Response: Decodable & Sendable>(
        _ json: String, _ type: Response.Type, below keys: String..., by decoder: any ResponseDecoder
    ) async throws -> String {
        let network = scripted()
        network.onAny { .json(json) }
        let client = testClient(network, TestClock()) { $0.decoder = decoder }
        var endpoint = Endpoint<Response>.get("x")
        for key in keys { endpoint = endpoint.unwrapping(key) }
        let error = try await #require(throws: ServiceError.self) { try await client.run(endpoint) }
        guard case .decodingFailed = error else { throw error }
        return error.description
    }

    @Test("a member in snake case that the model names in camel case", arguments: 0..<2)
    func snakeCase(decoder: Int) async throws {
        let decoder = Self.decoders[decoder]
        let advice = "found nothing; the response has `created_at`: set `decoder = .json(keys: .snakeCase)`)"
        let list = #"[{"createdAt": 1}, {"id": 1, "created_at": 2}]"#
        #expect(try await text(list, [User].self, by: decoder).contains("at [1].createdAt, \(advice)"))
        let deep = #"{"a": 1, "data": {"7": {"user": {"created_at": 2}}}}"#
        let model = [String: [String: User]].self
        #expect(try await text(deep, model, below: "data", by: decoder).contains("user.createdAt, \(advice)"))
        for other in [#"{"createdat": 1}"#, #"{"created": 1}"#, #"{"created_at_all": 1}"#, "{}"] {
            #expect(try await text(other, User.self, by: decoder).contains("at createdAt, found nothing)"))
        }
    }

    @Test("a list in an object, where the model is a list", arguments: 0..<2)
    func list(decoder: Int) async throws {
        let decoder = Self.decoders[decoder]
        let found = try await text(#"{"total": 1, "user_list": [{"id": 1}]}"#, [Int].self, by: decoder)
        let advice = "the response has a list at `user_list`: add `.unwrapping(\"user_list\")` to the endpoint"
        #expect(found.contains("expected an array, found an object; \(advice))"), "\(found)")
        let long = String(repeating: "a", count: 41)
        let others = [#"{"a": [], "b": []}"#, #"{"a b": []}"#, "{\"\(long)\": []}", #"{"a": {"b": []}}"#, "{}"]
        for other in others {
            #expect(try await text(other, [Int].self, by: decoder).contains("expected an array, found an object)"))
        }
        let nested = #"{"data": {"users": []}}"#
        #expect(try await text(nested, [String: [Int]].self, by: decoder).contains("at data, found an object)"))
    }

    @Test("a member that the decoder has renamed")
    func renamed() async throws {
        let foundation = JSONDecoder()
        foundation.keyDecodingStrategy = .convertFromSnakeCase
        for decoder in [.json(keys: .snakeCase), foundation] as [any ResponseDecoder] {
            let text = try await text(#"{"created_at": "now"}"#, Named.self, by: decoder)
            let advice = "the decoder renames `created_at` to `createdAt`, because of `keys: .snakeCase`"
            #expect(text.contains("found nothing; \(advice))"), "\(text)")
        }
    }

    @Test("a date as text where a number is read", arguments: 0..<2)
    func dateAsText(decoder: Int) async throws {
        let decoder = Self.decoders[decoder]
        let advice = "if this is a `Date`, set `decoder = .json(dates: .iso8601)`)"
        for date in ["2026-11-22T10:30:00Z", "2026-11-22T10:30:00.25Z", "2026-11-22T10:30:00+01:00"] {
            let text = try await text(#"[{"createdAt": "\#(date)"}]"#, [User].self, by: decoder)
            #expect(text.contains("at [0].createdAt, found a string; \(advice)"), "\(text)")
        }
        for other in ["soon", "2026", "17", ""] {
            #expect(try await !text(#"[{"createdAt": "\#(other)"}]"#, [User].self, by: decoder).contains("dates:"))
        }
    }

    @Test("the place of a date is found though the decoder converts keys")
    func convertedPath() async throws {
        struct Account: Decodable, Sendable {
            var userInfo: [User]
        }
        let json = #"{"id": 1, "user_info": [{"created_at": 1700000000}]}"#
        let text = try await text(json, Account.self, by: .json(keys: .snakeCase, dates: .iso8601))
        #expect(text.contains("userInfo[0].createdAt, found number; if this is a `Date`"), "\(text)")
    }

    @Test(
        "a date as a number where a text is read",
        arguments: [
            ("1700000000", "secondsSince1970"), ("1700000000.5", "secondsSince1970"),
            ("1700000000000", "millisecondsSince1970"), ("17", nil), ("1e30", nil), ("true", nil), ("-1", nil),
        ])
    func dateAsNumber(number: String, option: String?) async throws {
        let foundation = JSONDecoder()
        foundation.dateDecodingStrategy = .iso8601
        for decoder in [.json(dates: .iso8601), foundation] as [any ResponseDecoder] {
            let text = try await text(#"{"createdAt": \#(number)}"#, User.self, by: decoder)
            if let option {
                #expect(text.contains("; if this is a `Date`, set `decoder = .json(dates: .\(option))`)"), "\(text)")
            } else {
                #expect(!text.contains("dates:"), "\(text)")
            }
        }
    }

    @Test("a line of a stream has the advice too")
    func lines() async throws {
        let network = scripted()
        network.onAny { .status(200, body: "{\"created_at\": 1}\n") }
        let client = testClient(network)
        let lines = try await client.stream(.get("x")).decoded(User.self)
        let error = await #expect(throws: ServiceError.self) { for try await _ in lines {} }
        #expect(error?.description.contains("set `decoder = .json(keys: .snakeCase)` (in line 1)") == true)
    }

    @Test("a response or a download that is too large names the option")
    func limits() async throws {
        let network = scripted()
        network.onAny { ScriptedReply.json("[1,2,3,4,5]").times(2) }
        let client = testClient(network) { $0.responseByteLimit = 4 }
        let error = await #expect(throws: ServiceError.self) { try await client.run(Endpoint<[Int]>.get("x")) }
        #expect(error?.description.contains("the limit of 4 bytes, which `responseByteLimit` sets)") == true)
        let scratch = try Scratch()
        let other = await #expect(throws: ServiceError.self) {
            try await client.download(.get("x"), to: scratch.path("x"), byteLimit: 5)
        }
        #expect(other?.description.contains("the limit of 5 bytes, which `byteLimit` sets)") == true)
    }
}
