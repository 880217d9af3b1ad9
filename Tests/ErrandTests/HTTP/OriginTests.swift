import Testing

@testable import Errand

@Suite("Origin: what credentials belong to")
struct OriginTests {
    @Test(
        "C63: this machine is localhost, a name below it, 127.0.0.0/8 and ::1, and nothing that only looks like it",
        arguments: [
            ("http://localhost", true),
            ("http://LOCALHOST:8080", true),
            ("http://api.localhost", true),
            ("http://127.0.0.1", true),
            ("http://127.255.1.9:81", true),
            ("http://[::1]:8080", true),
            ("http://localhost.evil.test", false),
            ("http://evil-localhost", false),
            ("http://127.0.0.1.evil.test", false),
            ("http://127.0.0", false),
            ("http://127.0.0.256", false),
            ("http://127.0.0.1.", false),
            ("http://128.0.0.1", false),
            ("http://127evil.0.0.1", false),
            ("http://0.0.0.0", false),
            ("http://10.0.0.1", false),
            ("http://[::2]", false),
            ("http://[::ffff:10.0.0.1]", false),
            ("http://api.test", false),
        ])
    func loopback(url: String, isLoopback: Bool) throws {
        let origin = try HTTPURL(url).origin
        #expect(origin.isLoopback == isLoopback)
        #expect(origin.isExposed == !isLoopback)
    }

    @Test("https is never cleartext")
    func https() throws {
        #expect(try !HTTPURL("https://api.test").origin.isExposed)
    }

    @Test("scheme, host and port make an origin; the scheme's default port may be left out")
    func equality() throws {
        let origin = try HTTPURL("https://api.test/a").origin
        #expect(try origin == HTTPURL("HTTPS://API.test:443/b?c").origin)
        #expect(try origin != HTTPURL("http://api.test/a").origin)
        #expect(try origin != HTTPURL("https://api.test:444/a").origin)
        #expect(try origin != HTTPURL("https://www.api.test/a").origin)
        #expect(origin.description == "https://api.test")
        #expect(try HTTPURL("https://api.test:80").origin.description == "https://api.test:80")
    }
}
