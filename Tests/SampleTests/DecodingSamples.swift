import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

struct GuardedJSON: ResponseDecoder {
    func decode<Value: Decodable>(
        _ type: Value.Type, from data: Data, below keys: [String]
    ) throws -> Value {
        let start = data.firstIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? data.startIndex
        return try FastJSONDecoder().decode(type, from: data[start...], below: keys)
    }
}

struct Settings: Decodable, Sendable {
    var theme: String
    var isLoud: Bool

    private enum CodingKeys: String, CodingKey { case theme, isLoud = "is_loud" }

    init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        theme = try members.decodeIfPresent(String.self, forKey: .theme) ?? "plain"
        isLoud = try members.decodeIfPresent(Bool.self, forKey: .isLoud) ?? false
    }
}

private struct Post: Codable, Sendable, Equatable {
    var postTitle: String
    var createdAt: Date
}

@Suite("Encoding and decoding")
struct DecodingSamples {
    private let network = scripted()

    @Test("strategies for keys and dates, in both directions and above a key")
    func strategies() async throws {
        let post = #"{"post_title": "Hi", "created_at": "2026-11-22T10:00:00Z"}"#
        network.on(.get, "/posts", .json(#"{"post_list": [\#(post)]}"#))
        network.on(.post, "/posts", .status(204))
        let strategies = both().configuration
        let client = testClient(network) {
            $0.decoder = strategies.decoder
            $0.encoder = strategies.encoder
        }
        let posts: [Post] = try await client.run(.get("posts").unwrapping("post_list"))
        let first = try #require(posts.first)
        #expect(first.postTitle == "Hi" && first.createdAt == Date(timeIntervalSince1970: 1_795_341_600))
        try await client.run(.post("posts", body: .json(first)))
        let sent = try JSONDecoder().decode(JSONValue.self, from: network.sent[1].body)
        #expect(sent == ["post_title": "Hi", "created_at": "2026-11-22T10:00:00Z"])
    }

    private func both() -> APIClient {
        let client = APIClient("https://api.example.com") {
            $0.decoder = .json(keys: .snakeCase, dates: .iso8601)
            $0.encoder = .json(keys: .snakeCase, dates: .iso8601)
        }
        return client
    }

    @Test("an endpoint has a decoder of its own")
    func ownDecoder() async throws {
        network.on(.get, "/users", .json(#"[{"id": 1, "name": "Ann"}]"#))
        let client = testClient(network)
        var decoder = FastJSONDecoder()
        decoder.dataDecodingStrategy = .deferredToData
        let users: [User] = try await client.run(.get("users").decoder(decoder))
        #expect(users.map(\.name) == ["Ann"])
    }

    @Test("a day is read, and what is no day is an error")
    func days() throws {
        let client = APIClient("https://api.example.com") {
            $0.decoder = .json(dates: [.day, .iso8601])
        }
        func days(in text: String) throws -> [Date] {
            try client.configuration.decoder.decode([Date].self, from: Data(text.utf8), below: [])
        }
        #expect(try days(in: #"["2026-11-27"]"#) == [Date(timeIntervalSince1970: 1_795_737_600)])
        #expect(throws: (any Error).self) { try days(in: #"["soon"]"#) }
    }

    @Test("a client has Foundation's decoder")
    func foundation() {
        let client = APIClient("https://api.example.com") { $0.decoder = JSONDecoder() }
        #expect(client.configuration.decoder is JSONDecoder)
    }

    @Test("a decoder of one's own reads JSON behind a line that guards it, also below keys")
    func guarded() async throws {
        let network = scripted()
        network.on(.get, "/users", .json(")]}'\n{\"users\": [{\"id\": 1, \"name\": \"Ann\"}]}"))
        let client = testClient(network) { $0.decoder = GuardedJSON() }
        let users = try await client.run(Endpoint<[User]>.get("users").unwrapping("users"))
        #expect(users.map(\.name) == ["Ann"])
    }

    @Test("a decoder decodes by itself")
    func alone() throws {
        let data = Data(#"[{"id": 1, "name": "Ann"}]"#.utf8)
        let users = try FastJSONDecoder().decode([User].self, from: data)
        #expect(users.map(\.name) == ["Ann"])
        var shown = 0
        func show(_ users: [User]) { shown += users.count }
        do {
            try show(FastJSONDecoder().decode([User].self, from: data))
        } catch DecodingError.dataCorrupted(let context) {
            let fault = context.underlyingError as? JSONFault
            print(fault?.description ?? context.debugDescription)
        }
        #expect(shown == 1)
    }

    @Test("any JSON is decoded by itself, and written as a literal")
    func anyJSON() throws {
        let data = Data(#"{"users": [{"name": "Bo"}]}"#.utf8)
        func decoded() throws -> String? {
            let value = try FastJSONDecoder().decode(JSONValue.self, from: data)
            let name = value["users"]?[0]?["name"]?.string
            return name
        }
        #expect(try decoded() == "Bo")
        let value: JSONValue = ["name": "Bo", "pets": [["name": "Rex", "age": 4], "none"]]
        #expect(value["pets"]?[0]?["age"]?.integer == 4)
    }

    @Test("numbers without a type")
    func numbers() throws {
        let data = Data(#"{"count": 7, "price": 19.99, "ratio": 1.0, "big": 12345678901234567890, "text": "7"}"#.utf8)
        let value = try FastJSONDecoder().decode(JSONValue.self, from: data)
        let count = value["count"]?.integer  // 7
        let price = value["price"]?.number  // 19.99, as near as a Double comes
        let none = value["price"]?.integer  // nil: it has a fraction
        #expect(count == 7 && price == 19.99 && none == nil)
        #expect(value["ratio"]?.integer == 1 && value["count"]?.number == 7 && value["text"]?.integer == nil)
        #expect(value["big"]?.integer == nil && value["big"]?.number == 12_345_678_901_234_567_168)
        let exact = try FastJSONDecoder().decode(Price.self, from: data)
        #expect(exact.price == Decimal(string: "19.99"))
    }

    private struct Price: Decodable {
        var price: Decimal
    }

    @Test("an error of one's own type is read in one place")
    func ownError() async throws {
        let reading = {
            let client = APIClient("https://api.example.com") {
                $0.errorDetails = .decoding(Refusal.self)
            }
            return client
        }()
        network.on(.get, "/friends", .json(#"{"code": "funds", "balance": 3}"#, status: 402))
        let client = testClient(network) { $0.errorDetails = reading.configuration.errorDetails }
        let error = await #expect(throws: ServiceError.self) { try await client.run(.friends) }
        guard case .rejected(let rejection) = error else { return }
        #expect(rejection.details(as: Refusal.self)?.balance == 3)
    }

    private func observed() -> APIClient {
        let client = APIClient("https://api.example.com") {
            $0.observe = { print(LogFormatter().line(for: $0)) }
        }
        return client
    }

    @Test("a list below two keys, with and without its broken elements")
    func envelopes() async throws {
        let whole = #"{"data": {"users": [{"id": 1, "name": "Ann"}]}}"#
        let broken = #"{"data": {"users": [{"id": 1, "name": "Ann"}, {}]}}"#
        network.on(.get, "/search", .json(whole), .json(broken))
        let client = testClient(network)
        let users: [User] = try await client.run(.get("search").unwrapping("data", "users"))
        #expect(users.count == 1)
        #expect(try await lossy(client).skippedCount == 1)
    }

    private func lossy(_ client: APIClient) async throws -> LossyList<User> {
        let users: LossyList<User> = try await client.run(.get("search").unwrapping("data", "users"))
        return users
    }

    @Test("a missing member has a default")
    func defaults() async throws {
        network.on(.get, "/settings", .json(#"{"is_loud": true}"#))
        let settings: Settings = try await testClient(network).run(.get("settings"))
        #expect(settings.theme == "plain" && settings.isLoud)
    }

    @Test("a header of the response is read")
    func header() async throws {
        network.on(.get, "/friends", .json("[]", headers: ["X-Total-Count": "12"]))
        let client = testClient(network)
        let reply = try await client.reply(to: .friends)
        let total = reply.headers["X-Total-Count"].flatMap { Int($0) }
        #expect(total == 12)
    }
}
