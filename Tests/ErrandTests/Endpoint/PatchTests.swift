import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("Patches, and null")
struct PatchTests {
    private let network = scripted()

    private func sent(
        _ body: RequestBody, _ configure: (inout Configuration) -> Void = { _ in }
    ) async throws -> (json: String, type: String?) {
        network.onAny { .status(204) }
        try await testClient(network, TestClock(), configure).run(.patch("x", body: body))
        let request = try #require(network.sent.last?.request)
        return (String(decoding: request.body?.bytes ?? Data(), as: UTF8.self), request.headers["Content-Type"])
    }

    private func failure(_ body: RequestBody) async throws -> InvalidRequest {
        let error = try await #require(throws: ServiceError.self) {
            try await testClient(network).run(.patch("x", body: body))
        }
        guard case .invalidRequest(let invalid) = error else { throw error }
        return invalid
    }

    /// The examples of RFC 7396, appendix A, that are between objects: the patch is the shortest that makes the result.
    @Test(
        "a merge patch has what differs, as in the examples of RFC 7396",
        arguments: [
            (["a": "b"], ["a": "c"], ["a": "c"]), (["a": "b"], ["a": "b", "b": "c"], ["b": "c"]),
            (["a": "b"], [:], ["a": .null]), (["a": "b", "b": "c"], ["b": "c"], ["a": .null]),
            (["a": ["b"]], ["a": "c"], ["a": "c"]), (["a": "c"], ["a": ["b"]], ["a": ["b"]]),
            (["a": ["b": "c"]], ["a": ["b": "d"]], ["a": ["b": "d"]]),
            (["a": [["b": "c"]]], ["a": [1]], ["a": [1]]), (["e": .null], ["e": .null, "a": 1], ["a": 1]),
            ([:], ["a": ["bb": [:]]], ["a": ["bb": [:]]]), (["a": 1], ["a": 1], [:]),
            (["a": ["b": 1, "c": 2]], ["a": ["b": 1]], ["a": ["c": .null]]), (["a": ["b": 1]], ["a": 1], ["a": 1]),
        ] as [(JSONValue, JSONValue, JSONValue)])
    func merge(old: JSONValue, new: JSONValue, patch: JSONValue) async throws {
        let (json, type) = try await sent(.mergePatch(from: old, to: new))
        #expect(try JSONDecoder().decode(JSONValue.self, from: Data(json.utf8)) == patch)
        #expect(type == "application/merge-patch+json")
        #expect(Self.applying(patch, to: old) == new)
    }

    /// The algorithm of RFC 7396, section 2.
    private static func applying(_ patch: JSONValue, to target: JSONValue) -> JSONValue {
        guard case .object(let changes) = patch else { return patch }
        var members = target.object ?? [:]
        for (name, change) in changes {
            members[name] = change.isNull ? nil : applying(change, to: members[name] ?? .null)
        }
        return .object(members)
    }

    private struct User: Codable, Sendable, Equatable {
        var firstName: String
        var email: String?
        var balance: Decimal = 1
        var since: Date?
    }

    @Test("what became nil is null, the encoder names and writes the members, and no number loses a digit")
    func values() async throws {
        let old = User(firstName: "Ann", email: "a@b.test", balance: Decimal(string: "0.1") ?? 0)
        var new = old
        new.email = nil
        new.balance = Decimal(string: "12345678901234567890.123456789") ?? 0
        new.firstName = "e\u{301} \"\u{1}\\/😀"
        new.since = Date(timeIntervalSince1970: 0)
        let (json, _) = try await sent(.mergePatch(from: old, to: new)) {
            $0.encoder = .json(keys: .snakeCase, dates: .iso8601)
            $0.headers["Content-Type"] = "application/json"
        }
        #expect(json.contains(#""email":null"#) && json.contains(#""since":"1970-01-01T00:00:00Z""#))
        #expect(json.contains("12345678901234567890.123456789"))
        let names = try JSONDecoder().decode([String: JSONValue].self, from: Data(json.utf8))
        #expect(names["first_name"]?.string.map { Array($0.utf8) } == Array(new.firstName.utf8))
        #expect(network.sent.last?.request.headers["Content-Type"] == "application/merge-patch+json")
        // The two forms of é differ, although they look the same.
        let other = User(firstName: "\u{e9} \"\u{1}\\/😀", balance: new.balance, since: new.since)
        #expect(try await sent(.mergePatch(from: new, to: other)).json.contains("firstName"))
    }

    @Test("a merge patch between values that are no objects is refused with words")
    func noObjects() async throws {
        for body in [RequestBody.mergePatch(from: [1], to: [2]), .mergePatch(from: "a", to: "b")] {
            let invalid = try await failure(body)
            #expect(invalid.subject == .body && invalid.reason.contains("between objects"))
        }
    }

    @Test("a JSON patch is sent as RFC 6902 writes it")
    func operations() async throws {
        let key = "a/\u{301}b~c"
        let (json, type) = try await sent(
            .jsonPatch([
                .test("/version", 3), .replace("/title", "Milk"), .add("/tags/-", ["x": 1]), .remove("/keys/\(key)"),
                .move(from: "/a", to: JSONPatch.Pointer(["b", "~"])), .copy(from: "", to: "/copy"),
                .add("/note", JSONValue.null),
            ]))
        let expected =
            #"[{"op":"test","path":"/version","value":3},{"op":"replace","path":"/title","value":"Milk"},"#
            + #"{"op":"add","path":"/tags/-","value":{"x":1}},{"op":"remove","path":"/keys/a~1\#u{301}b~0c"},"#
            + #"{"op":"move","path":"/b/~0","from":"/a"},{"op":"copy","path":"/copy","from":""},"#
            + #"{"op":"add","path":"/note","value":null}]"#
        #expect(json == expected && type == "application/json-patch+json")
    }

    @Test("a path that is no JSON pointer is refused with words", arguments: ["title", "/a~", "/~2", "a/b"])
    func pointers(path: String) async throws {
        let invalid = try await failure(.jsonPatch([.remove(JSONPatch.Pointer(stringLiteral: path))]))
        #expect(invalid.subject == .body && invalid.reason.contains("not a JSON pointer"))
    }

    private struct Everything: Codable, Sendable {
        var a: Bool?, b: String?, c: Double?, d: Float?, e: Int?, f: Int8?, g: Int16?, h: Int32?, i: Int64?, j: UInt?
        var k: UInt8?, l: UInt16?, m: UInt32?, n: UInt64?, o: Date?, p: URL?, q: User?, r: [Int?]?, s: [String: User]?
        var t: Int128?, u: UInt128?
    }

    @Test("with explicit nulls, each member that is nil is null, at any depth; without, it is left out")
    func nulls() async throws {
        var (json, type) = try await sent(.json(Everything(), explicitNulls: true))
        let members = try JSONDecoder().decode([String: JSONValue].self, from: Data(json.utf8))
        #expect(members.count == 21 && members.values.allSatisfy(\.isNull) && type == "application/json")
        (json, _) = try await sent(.json(Everything(), explicitNulls: false))
        #expect(json == "{}")
        let user = User(firstName: "Ann", since: Date(timeIntervalSince1970: 0.5))
        let full = Everything(
            a: true, b: "b", c: 0.5, d: 0.5, e: 1, o: user.since, p: URL(string: "https://a.test"), q: user,
            r: [1, nil], s: ["firstName": user])
        (json, _) = try await sent(.json([full], explicitNulls: true)) {
            $0.encoder = .json(keys: .snakeCase, dates: .iso8601)
        }
        let value = try JSONDecoder().decode(JSONValue.self, from: Data(json.utf8))
        let first = try #require(value[0])
        let encoded: JSONValue = [
            "first_name": "Ann", "email": .null, "balance": 1, "since": "1970-01-01T00:00:00.500Z",
        ]
        #expect(first["q"] == encoded && first["s"]?["firstName"] == encoded && first["r"] == [1, .null])
        #expect(first["p"] == "https://a.test" && first["o"] == "1970-01-01T00:00:00.500Z" && first["k"] == .null)
    }
}
