import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("Parameters: the method decides where they go")
struct ParametersTests {
    @Test("C62: GET, HEAD, DELETE and OPTIONS put them in the query", arguments: ["GET", "HEAD", "DELETE", "OPTIONS"])
    func query(method: String) async throws {
        let endpoint = Endpoint<NoContent>(
            HTTPMethod(rawValue: method), "x", parameters: ["id": 5, "tag": ["a", "b"], "q": "a&b"])
        let sent = try await request(for: endpoint)
        #expect(sent.request.url.target == "/x?id=5&tag=a&tag=b&q=a%26b")
        #expect(sent.request.body == nil)
        #expect(sent.request.headers["Content-Type"] == nil)
    }

    @Test("C62: POST, PUT and PATCH put them in a JSON body", arguments: ["POST", "PUT", "PATCH"])
    func body(method: String) async throws {
        struct Sent: Decodable, Equatable { var id: Int, tag: [String], on: Bool, inner: [String: Int] }
        let endpoint = Endpoint<NoContent>(
            HTTPMethod(rawValue: method), "x", parameters: ["id": 5, "tag": ["a", "b"], "on": true, "inner": ["n": 1]])
        let sent = try await request(for: endpoint)
        #expect(sent.request.url.target == "/x")
        #expect(sent.request.headers["Content-Type"] == "application/json")
        let read = try JSONDecoder().decode(Sent.self, from: sent.body)
        #expect(read == Sent(id: 5, tag: ["a", "b"], on: true, inner: ["n": 1]))
    }

    @Test("C62: a Content-Type of the endpoint's own is not overwritten")
    func contentType() async throws {
        var endpoint = Endpoint<NoContent>(.post, "x", parameters: ["a": "b"])
        endpoint.headers["content-type"] = "application/vnd.api+json"
        let sent = try await request(for: endpoint)
        #expect(sent.request.headers.values("Content-Type") == ["application/vnd.api+json"])
    }

    @Test("a nil is left out, and setting a name again replaces its value")
    func setting() throws {
        let none: Int? = nil
        var parameters: Parameters = ["a": 1, "b": none, "a": 2]
        #expect(parameters["a"] as? Int == 2)
        #expect(parameters["b"] == nil)
        #expect(try String(decoding: JSONEncoder().encode(parameters), as: UTF8.self) == #"{"a":2}"#)
        parameters["a"] = nil
        #expect(parameters.isEmpty)
    }

    @Test("a value that cannot stand in a query is refused by its name and type, not by its value")
    func unfit() async throws {
        let endpoint = Endpoint<NoContent>(.get, "x", parameters: ["filter": ["password": "hunter2"]])
        let invalid = try await refusal(of: endpoint)
        #expect(invalid.subject == .query)
        #expect(invalid.reason.contains("\"filter\""), "\(invalid.reason)")
        #expect(!invalid.reason.contains("hunter2"))
    }
}
