import Errand
import ErrandTestSupport
import Testing

@Suite("HTTPURL: an absolute URL to call")
struct HTTPURLTests {
    @Test(
        "a URL stays as it was written, except the case of its scheme and host, a default port and a fragment",
        arguments: [
            ("https://api.test", "https://api.test/"),
            ("https://api.test/", "https://api.test/"),
            ("HTTPS://API.Test/Path", "https://api.test/Path"),
            ("https://api.test:443/a", "https://api.test/a"),
            ("http://api.test:80/a", "http://api.test/a"),
            ("http://api.test:443/a", "http://api.test:443/a"),
            ("https://api.test:/a", "https://api.test/a"),
            ("https://api.test:8443/a/../b", "https://api.test:8443/a/../b"),
            ("https://api.test/a//b/", "https://api.test/a//b/"),
            ("https://api.test/a%2Fb%20c", "https://api.test/a%2Fb%20c"),
            ("https://api.test/é", "https://api.test/%C3%A9"),
            ("https://api.test?q=1", "https://api.test/?q=1"),
            ("https://api.test/a?", "https://api.test/a?"),
            ("https://api.test/a?x=1&y=/?:@#part", "https://api.test/a?x=1&y=/?:@"),
            ("http://[::1]:8080/a", "http://[::1]:8080/a"),
            ("http://[2001:DB8::1]", "http://[2001:db8::1]/"),
            ("http://127.0.0.1:65535/", "http://127.0.0.1:65535/"),
            ("https://a_b.test/", "https://a_b.test/"),
        ])
    func reads(text: String, expected: String) throws {
        #expect(try HTTPURL(text).absoluteString == expected)
    }

    @Test(
        "a string that is no absolute http or https URL is refused, and the error says why",
        arguments: [
            ("", "no scheme"),
            ("api.test/a", "no scheme"),
            ("/a", "no scheme"),
            ("//api.test/a", "no scheme"),
            ("https:", "no host"),
            ("https:/a", "no host"),
            ("https://", "no host"),
            ("https:///a", "no host"),
            ("https://:443/a", "no host"),
            ("ftp://api.test/a", "neither https nor http"),
            ("file:///etc/passwd", "neither https nor http"),
            ("javascript:alert(1)", "no host"),
            ("https://user@api.test/", "user name or a password"),
            ("https://user:word@api.test/", "user name or a password"),
            ("https://api.test:0/", "port"),
            ("https://api.test:65536/", "port"),
            ("https://api.test:-1/", "port"),
            ("https://api.test:+1/", "port"),
            ("https://api.test:x/", "port"),
            ("https://api.test:1:2/", "host has an invalid character"),
            ("https://api.test/a b", "a space"),
            ("https://api.test\\@evil.test/", "a backslash"),
            ("https://api.test/a\r\nX: y", "control character"),
            ("https://api.test/\u{0}", "control character"),
            ("https://api.test/%", "hexadecimal"),
            ("https://api.test/%4", "hexadecimal"),
            ("https://api.test/%zz", "hexadecimal"),
            ("https://api.test/a?%", "hexadecimal"),
            ("https://api.te%73t/", "host has an invalid character"),
            ("https://é.test/", "host has an invalid character"),
            ("https://[::1/", "host has an invalid character"),
            ("https://[api.test]/", "host has an invalid character"),
            ("https://[]/", "host has an invalid character"),
            ("https://\(String(repeating: "a", count: 256))/", "longer than 255"),
        ])
    func refuses(text: String, reason: String) throws {
        let error = try #require(throws: ServiceError.self) { try HTTPURL(text) }
        guard case .invalidRequest(let invalid) = error else { throw error }
        #expect(invalid.subject == .url)
        #expect(invalid.reason.contains(reason), "\(invalid.reason)")
    }

    @Test("a refused URL is quoted without its password and without line breaks")
    func quotesSafely() throws {
        let error = try #require(throws: ServiceError.self) { try HTTPURL("https://me:hunter2@api.test/\n") }
        #expect(!error.description.contains("hunter2"))
        #expect(!error.description.contains("\n"))
        #expect(error.description.contains("api.test"))
    }

    @Test("the target is the path and the query, as they stand in a request's first line")
    func target() throws {
        #expect(try HTTPURL("https://api.test/a/b?x=1").target == "/a/b?x=1")
        #expect(try HTTPURL("https://api.test").target == "/")
        #expect(try HTTPURL("https://api.test/a?").target == "/a?")
    }
}
