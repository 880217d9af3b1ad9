import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("RequestBody: the bytes that are sent, and their type")
struct RequestBodyTests {
    private struct Movie: Codable, Equatable, Sendable { var title: String, rating: Double }

    @Test("a JSON body is encoded by the client's encoder")
    func json() async throws {
        let movie = Movie(title: "Alien \"é\" 😀", rating: 8.5)
        let sent = try await request(for: Endpoint<NoContent>.post("x", body: .json(movie)))
        #expect(sent.request.headers["Content-Type"] == "application/json")
        #expect(try JSONDecoder().decode(Movie.self, from: sent.body) == movie)
    }

    @Test("another encoder has its own content type")
    func encoder() async throws {
        struct Shouting: RequestEncoder {
            var contentType: String { "text/x-shout" }
            func encode<Value: Encodable>(_ value: Value) throws -> Data { Data("\(value)!".utf8) }
        }
        let sent = try await request(for: Endpoint<NoContent>.put("x", body: .json("hey"))) { $0.encoder = Shouting() }
        #expect(sent.request.headers["Content-Type"] == "text/x-shout")
        #expect(String(decoding: sent.body, as: UTF8.self) == "hey!")
    }

    @Test("bytes are sent as they are, with the type that was given")
    func data() async throws {
        let bytes = Data([0, 255, 13, 10])
        let sent = try await request(
            for: Endpoint<NoContent>.patch("x", body: .data(bytes, contentType: "image/png")))
        #expect(sent.body == bytes)
        #expect(sent.request.headers["Content-Type"] == "image/png")
        #expect(sent.request.body?.length == 4)
    }

    @Test("without a body there is neither a body nor a content type")
    func none() async throws {
        let sent = try await request(for: Endpoint<NoContent>.post("x"))
        #expect(sent.request.body == nil)
        #expect(sent.request.headers["Content-Type"] == nil)
    }

    @Test("a body that cannot be encoded is refused with the place, and nothing is sent")
    func unencodable() async throws {
        let invalid = try await refusal(
            of: Endpoint<NoContent>.post("x", body: .json(["movies": [Movie(title: "a", rating: .nan)]])))
        #expect(invalid.subject == .body)
        #expect(invalid.reason.contains("at movies[0].rating"), "\(invalid.reason)")
        let parameters = try await refusal(of: Endpoint<NoContent>(.post, "x", parameters: ["a": Double.infinity]))
        #expect(parameters.subject == .body)
        #expect(parameters.reason.contains("at a"), "\(parameters.reason)")
    }

    @Test("an encoder's own error is named, but its content is not shown")
    func foreign() async throws {
        struct Broken: Error { var password = "hunter2" }
        struct Encoder: RequestEncoder {
            var contentType: String { "x/y" }
            func encode<Value: Encodable>(_ value: Value) throws -> Data { throw Broken() }
        }
        let invalid = try await refusal(of: Endpoint<NoContent>.post("x", body: .json(1))) { $0.encoder = Encoder() }
        #expect(invalid.subject == .body)
        #expect(invalid.reason.contains("Broken"), "\(invalid.reason)")
        #expect(!invalid.reason.contains("hunter2"))
    }

    @Test("a CancellationError of an encoder is an encoding failure")
    func cancelled() async throws {
        struct Encoder: RequestEncoder {
            var contentType: String { "x/y" }
            func encode<Value: Encodable>(_ value: Value) throws -> Data { throw CancellationError() }
        }
        let client = testClient(scripted(), TestClock()) { $0.encoder = Encoder() }
        let error = await #expect(throws: ServiceError.self) {
            try await client.run(Endpoint<NoContent>.post("x", body: .json(1)))
        }
        guard case .invalidRequest(let invalid) = error else { throw try #require(error) }
        #expect(invalid.subject == .body)
    }
}
