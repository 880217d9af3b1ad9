import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("JSON objects from nested literals with variables")
struct JSONObjectTests {
    private struct Pet: Encodable, JSONMember {
        var name: String
    }

    private let name = "Bo"
    private let age = 4
    private let score = 1.5
    private let tags = ["a", "b"]
    private let nick: String? = nil

    /// Returns the body that a client sends.
    private func sent(_ body: RequestBody) async throws -> JSONValue {
        let sent = try await request(for: Endpoint<NoContent>.post("x", body: body))
        #expect(sent.request.headers["Content-Type"] == "application/json")
        return try JSONDecoder().decode(JSONValue.self, from: sent.body)
    }

    @Test("variables of different types, at any depth")
    func depth() async throws {
        #expect(
            try await sent(.json(["user": ["name": name, "age": age]])) == ["user": ["name": "Bo", "age": 4]])
        #expect(
            try await sent(
                .json([
                    "user": ["name": name, "more": ["age": age, "score": score, "on": true]], "tags": tags, "n": age,
                ]))
                == [
                    "user": ["name": "Bo", "more": ["age": 4, "score": 1.5, "on": true]], "tags": ["a", "b"], "n": 4,
                ])
    }

    @Test("a nil value is left out at every depth; in a list it is null")
    func absent() async throws {
        #expect(
            try await sent(.json(["user": ["name": name, "age": age, "nick": nick], "x": nick]))
                == ["user": ["name": "Bo", "age": 4]])
        let object: JSONObject = ["user": ["name": name, "nick": nick], "x": nick]
        #expect(try await sent(.json(object)) == ["user": ["name": "Bo"]])
        #expect(try await sent(.json(["list": ["a": [age, nil], "b": age]])) == ["list": ["a": [4, .null], "b": 4]])
    }

    @Test("a nil value is left out whatever the types of the other members are")
    func absentBesideAnything() async throws {
        #expect(try await sent(.json(["name": name, "nick": nick])) == ["name": "Bo"])
        #expect(try await sent(.json(["name": name, "nick": nick, "n": 1])) == ["name": "Bo", "n": 1])
        #expect(try await sent(.json(["user": ["name": name, "nick": nick]])) == ["user": ["name": "Bo"]])
        #expect(
            try await sent(.json(["user": ["name": name, "nick": nick], "n": 1]))
                == ["user": ["name": "Bo"], "n": 1])
        #expect(
            try await sent(.json(["user": ["name": name, "nick": nick, "n": 1]])) == ["user": ["name": "Bo", "n": 1]])
        #expect(try await sent(.json(["a": ["b": ["name": name, "nick": nick]]])) == ["a": ["b": ["name": "Bo"]]])
        #expect(try await sent(.json(["nick": nick])) == [:])
    }

    @Test("null is sent for JSONValue.null, in a dictionary, and in an inner literal beside another type")
    func null() async throws {
        struct Plain: Encodable {}
        let nicks: [String: String?] = ["nick": nick]
        #expect(
            try await sent(.json(["user": ["name": name, "nick": JSONValue.null], "n": age]))
                == ["user": ["name": "Bo", "nick": .null], "n": 4])
        #expect(try await sent(.json(nicks)) == ["nick": .null])
        #expect(
            try await sent(.json(["user": ["nick": nick], "plain": Plain(), "nick": nick]))
                == ["user": ["nick": .null], "plain": [:]])
    }

    @Test("variables of the types for JSON are sent as they are")
    func variables() async throws {
        let parameters: Parameters = ["a": nick, "b": age]
        let object: JSONObject = ["a": nick, "b": age]
        let value: JSONValue = ["a": .null, "b": 4]
        #expect(try await sent(.json(parameters)) == ["b": 4])
        #expect(try await sent(.json(object)) == ["b": 4])
        #expect(try await sent(.json(value)) == value)
        #expect(try await sent(.json(["l": [1, "a"], "s": "x"])) == ["l": [1, "a"], "s": "x"])
    }

    @Test("models, dates and lists of objects, with the client's encoder")
    func values() async throws {
        let date = Date(timeIntervalSince1970: 0)
        let body = RequestBody.json([
            "a": ["pet": Pet(name: name), "at": date, "list": [["name": name], ["age": age]] as [JSONObject]]
        ])
        let sent = try await request(for: Endpoint<NoContent>.post("x", body: body)) { $0.encoder = .json() }
        #expect(
            try JSONDecoder().decode(JSONValue.self, from: sent.body)
                == ["a": ["pet": ["name": "Bo"], "at": "1970-01-01T00:00:00Z", "list": [["name": "Bo"], ["age": 4]]]])
    }

    @Test("its description shows names only")
    func description() {
        let object: JSONObject = ["user": ["password": name], "key": name]
        #expect("\(object)" == "an object of parameters user, key")
        var shown = ""
        dump(object, to: &shown)
        #expect(!shown.contains("Bo"))
    }
}
