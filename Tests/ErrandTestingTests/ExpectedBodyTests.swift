import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("The body that a script expects") struct ExpectedBodyTests {
    private struct User: Encodable {
        var name: String
        var age: Int
    }

    /// Sends the body to a script that expects another, and returns the lines of the difference; `nil` if it matches.
    private func lines(_ expected: ExpectedBody, _ body: String) async throws -> [String]? {
        let report = Noted<TestFailure?>(nil)
        let network = ScriptedTransport { failure in report.update { $0 = $0 ?? failure } }
        network.on(.post, "/a", body: expected, .status(204))
        let line = #line - 1
        let request = HTTPRequest(
            method: .post, url: try HTTPURL("https://api.test/a"), body: .bytes(Data(body.utf8)))
        let response = try? await network.send(request, context: TransportContext())
        guard let failure = report.value else {
            #expect(response?.status == 204)
            return nil
        }
        #expect(failure.location?.line == UInt(line))
        return failure.description.split(separator: "\n").dropFirst(2).map { $0.trimmingCharacters(in: .whitespaces) }
    }

    @Test(
        "JSON is compared as JSON: order, whitespace and the spelling of numbers and texts do not matter",
        arguments: [
            (#"{"name": "Ann", "age": 4}"#, #"{ "age":4.0,"name":"\u0041nn" }"#), ("[1, 2e2]", "[1.0,200]"),
            ("null", " null"), (#""a""#, #""a""#),
        ])
    func json(expected: String, sent: String) async throws {
        #expect(try await lines(.json(expected), sent) == nil)
    }

    @Test("a literal and a value are JSON too")
    func values() async throws {
        #expect(try await lines(.json(["name": "Ann", "age": 4]), #"{"age": 4, "name": "Ann"}"#) == nil)
        #expect(try await lines(.encoding(User(name: "Ann", age: 4)), #"{"age": 4, "name": "Ann"}"#) == nil)
    }

    @Test(
        "a mismatch shows which members differ",
        arguments: [
            (#"{"user": {"name": "Bo", "age": 4}}"#, [#"- body    user.name: "Ann""#, #"+ body    user.name: "Bo""#]),
            (#"{"user": {"name": "Ann"}}"#, ["- body    user.age: 4"]),
            (#"{"user": {"name": "Ann", "age": 4}, "x": [1]}"#, ["+ body    x: [1]"]),
            (
                #"{"user": [{"name": "Ann"}]}"#,
                [
                    #"- body    user: {"age":4,"name":"Ann"}"#, #"+ body    user: [{"name":"Ann"}]"#,
                ]
            ),
            ("oops", ["- body    JSON", #"+ body    "oops""#]), ("", ["- body    JSON", "+ body    no body"]),
        ])
    func members(sent: String, expected: [String]) async throws {
        #expect(try await lines(.json(["user": ["name": "Ann", "age": 4]]), sent) == expected)
    }

    @Test("lists are compared element by element, and large whole numbers exactly")
    func lists() async throws {
        #expect(
            try await lines(.json("[1, 2]"), "[1, 3, 4]") == [
                "- body    [1]: 2", "+ body    [1]: 3", "+ body    [2]: 4",
            ])
        #expect(
            try await lines(.json("9007199254740993"), "9007199254740992")
                == ["- body    9007199254740993", "+ body    9007199254740992"])
    }

    @Test("a script that is no JSON is said to be none")
    func invalid() async throws {
        #expect(try await lines(.json("{"), "{}") == ["- body    the script's body, which is not valid JSON"])
    }

    @Test("forms are compared as fields, in any order")
    func forms() async throws {
        let form = ExpectedBody.form(["name": "Ann Lee", "tag": ["a", "b"]])
        #expect(try await lines(form, "tag=b&name=Ann+Lee&tag=a") == nil)
        #expect(
            try await lines(form, "tag=a&tag=b&name=Bo&page=2")
                == ["- body    name=Ann Lee", "+ body    name=Bo", "+ body    page=2"])
    }

    @Test("texts and bytes are compared exactly")
    func exact() async throws {
        #expect(try await lines(.text("a\n"), "a\n") == nil)
        #expect(try await lines(.text("a\n"), "a") == [#"- body    "a\n""#, #"+ body    "a""#])
        #expect(try await lines(.data(Data("abc".utf8)), "abc") == nil)
        #expect(
            try await lines(.data(Data("abc".utf8)), "abd")
                == ["- body    3 bytes", "+ body    3 bytes, which differ from byte 2 on"])
    }

    @Test(
        "a secret of the request is shown only if the script names its member",
        arguments: [
            (ExpectedBody.json(["name": "Ann"]), #"{"name": "Ann", "user": {"password": "hush"}}"#),
            (.json(["name": "Ann"]), #"{"name": {"password": "hush"}}"#),
            (.json(["name": "Ann"]), #"{"name": "Ann", "password": ["hush"]}"#),
            (.json(["name": "Ann"]), #"{"name": "Ann", "note": "password=hush"}"#),
            (.json(["name": "Ann"]), #"password=hush"#), (.form(["name": "Ann"]), "name=Ann&password=hush"),
            (.text("a"), "password=hush"),
        ])
    func secrets(expected: ExpectedBody, sent: String) async throws {
        let lines = try #require(try await lines(expected, sent))
        #expect(lines.joined().contains("‹redacted›") && !lines.joined().contains("hush"), "\(lines)")
    }

    @Test("a value that the script names is shown")
    func named() async throws {
        #expect(
            try await lines(.json(["token": "a"]), #"{"token": "b"}"#) == [
                #"- body    token: "a""#, #"+ body    token: "b""#,
            ])
        #expect(try await lines(.form(["token": "a"]), "token=b") == ["- body    token=a", "+ body    token=b"])
    }
}
