import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("EndpointPath: every value is one segment")
struct EndpointPathTests {
    /// Difficult values: separators, escapes, dots, spaces, letters beyond ASCII.
    static let values = [
        "a", "/", "?", "#", "%", "%2F", "%2e%2e", "+", "&", "=", ";", " ", ".", "..", "...", "../..", "/../", "\\", ":",
        "@", "//evil.test", "http://evil.test", "é", "😀", "e\u{301}", "a\r\nX: y", "\0", "{}", "\"'<>`|^[]",
    ]

    @Test("C61: a value reads back as exactly one segment, whatever it contains", arguments: values)
    func roundTrip(value: String) async throws {
        let sent = try await request(for: Endpoint<Int>.get("users/\(value)/friends"))
        let segments = sent.request.url.path.split(separator: "/", omittingEmptySubsequences: false)
        #expect(segments.map { decoded($0) } == ["", "users", value, "friends"])
        #expect(sent.request.url.query == nil)
        #expect(sent.request.url.origin.host == "api.test")
        #expect(!segments.contains("..") && !segments.contains("."))
    }

    @Test("C61: a value that is the whole path, or a part of a segment, is escaped in the same way", arguments: values)
    func alone(value: String) async throws {
        let sent = try await request(for: Endpoint<Int>.get("\(value)"))
        #expect(decoded(sent.request.url.path.dropFirst()) == value)
        #expect(sent.request.url.path.split(separator: "/", omittingEmptySubsequences: false).count == 2)
        let part = try await request(for: Endpoint<Int>.get("v\(value).json"))
        #expect(decoded(part.request.url.path.dropFirst()) == "v\(value).json")
    }

    @Test("C61: each segment of an array is escaped as a whole")
    func segments() async throws {
        let sent = try await request(for: Endpoint<Int>.get(EndpointPath(segments: ["a/b", "..", "ü"])))
        #expect(sent.request.url.path == "/a%2Fb/%2E%2E/%C3%BC")
    }

    @Test("C61: a path is a part of another as it is, and each of its values stays one segment", arguments: values)
    func composed(value: String) async throws {
        let user: EndpointPath = "users/\(value)"
        let sent = try await request(for: Endpoint<Int>.get("v1/\(user)/friends"))
        #expect(sent.request.url.path == "/v1/\(user)/friends")
        #expect(sent.request.url.path.split(separator: "/").map { decoded($0) } == ["v1", "users", value, "friends"])
    }

    @Test("what is wrong with a path is wrong with those it is a part of, and slashes are not doubled")
    func composedOfWrong() async throws {
        let (wrong, empty, rooted): (EndpointPath, EndpointPath, EndpointPath) = ("../a", "", "/a")
        #expect(try await refusal(of: Endpoint<Int>.get("v1/\(wrong)")).reason.contains("leads outside"))
        #expect(try await refusal(of: Endpoint<Int>.get("v1/\(empty)/b")).reason.contains("empty value"))
        #expect(try await request(for: Endpoint<Int>.get("v1/\(rooted)")).request.url.path == "/v1/a")
    }

    @Test("numbers, identifiers and enums are inserted by their raw values")
    func interpolations() {
        enum Genre: String { case sciFi = "sci fi" }
        struct ID: RawRepresentable { var rawValue: Int }
        let path: EndpointPath = "\(7)/\(ID(rawValue: 8))/\(Genre.sciFi)/\(true)"
        #expect(path.description == "7/8/sci%20fi/true")
    }

    @Test(
        "a literal path is appended to the base URL, with or without slashes between",
        arguments: [
            ("https://api.test", "a/b", "/a/b"), ("https://api.test/", "/a/b", "/a/b"),
            ("https://api.test/v1", "a/b/", "/v1/a/b/"), ("https://api.test/v1/", "/a", "/v1/a"),
            ("https://api.test/v1//", "a", "/v1/a"), ("https://api.test/x/../v1", "a", "/v1/a"),
            ("https://api.test/v1", "", "/v1"), ("https://api.test", "", "/"), ("https://api.test/v1", "/", "/v1/"),
            ("https://api.test/v1", "a/./b/../c", "/v1/a/c"), ("https://api.test/v1", "a%2Fb/é", "/v1/a%2Fb/%C3%A9"),
            ("https://api.test/v1", "a:b/c", "/v1/a:b/c"), ("https://api.test/v1", "a//b", "/v1/a//b"),
        ] as [(String, EndpointPath, String)])
    func literals(base: String, path: EndpointPath, expected: String) async throws {
        let sent = try await request(for: Endpoint<Int>.get(path)) {
            $0.environment = ServerEnvironment(name: "test", baseURL: base)
        }
        #expect(sent.request.url.path == expected)
    }

    @Test(
        "a path that leaves the base URL is refused, and the error says why",
        arguments: [
            ("../a", "leads outside"), ("a/../../b", "leads outside"), ("/..", "leads outside"),
            ("./..", "leads outside"),
            ("https://evil.test/a", "not a path below"), ("ftp://evil.test", "not a path below"),
            ("//evil.test/a", "not a path below"), ("a?b=c", "has a query"), ("a#b", "has a fragment"),
            ("a%", "hexadecimal"), ("a%2", "hexadecimal"), ("a/\("")/b", "empty value"), ("\("")", "empty value"),
        ] as [(EndpointPath, String)])
    func refuses(path: EndpointPath, reason: String) async throws {
        let invalid = try await refusal(of: Endpoint<Int>.get(path))
        #expect(invalid.subject == .path)
        #expect(invalid.reason.contains(reason), "\(invalid.reason)")
    }

    @Test("an error about a query in a path, and the name of its call, show no secret of it")
    func secretQuery() async throws {
        let path = EndpointPath(stringLiteral: "users?api_key=s3cr3t")
        let invalid = try await refusal(of: Endpoint<Int>.get(path))
        #expect(invalid.reason.contains("users?api_key=") && !invalid.reason.contains("s3cr3t"))
        #expect(path.description == "users")
    }

    @Test("escaped dots in a literal do not leave it either", arguments: ["%2e%2e/a", "a/%2E./../../b", ".%2e"])
    func escapedDots(text: String) async throws {
        let invalid = try await refusal(of: Endpoint<Int>.get(EndpointPath(stringLiteral: text)))
        #expect(invalid.reason.contains("leads outside the base URL"), "\(invalid.reason)")
    }
}

/// Decodes escapes with another implementation than the library's.
private func decoded(_ text: some StringProtocol) -> String? {
    String(text).removingPercentEncoding
}
