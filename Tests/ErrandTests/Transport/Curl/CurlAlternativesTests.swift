#if os(Linux)
import Testing

@testable import Errand

@Suite("Alt-Svc, as libcurl's transport reads it") struct CurlAlternativesTests {
    private func read(_ values: String..., host: String = "example.com", port: Int? = nil) -> CurlAlternatives? {
        CurlAlternatives(values, of: Origin(scheme: "https", host: host, port: port))
    }

    @Test(
        "HTTP/3 on the same host and port is announced for its lifetime",
        arguments: [
            ("h3=\":443\"", 86_400), ("h3=\":443\"; ma=60", 60), ("h3=\"example.com:443\";ma=60", 60),
            ("h3=\"EXAMPLE.com:443\" ; ma=\"60\"", 60), ("h2=\"other:8443\", h3=\":443\"; ma=60; persist=1", 60),
            ("h3-29=\":443\"; ma=1, h3=\":443\"; ma=60, h3=\":443\"; ma=70", 60), (", h3=\":443\"; ma=60 ,", 60),
            ("h3=\":443\"; v=\"a\\\", b\"; ma=60", 60), ("h3=\":443\"; ma=99999999999999999999999", 31_536_000),
        ])
    func announced(value: String, lifetime: Int) {
        #expect(read(value) == .announced(for: .seconds(lifetime)))
    }

    @Test(
        "anything else withdraws it",
        arguments: [
            "clear", " clear ", "h2=\":443\"", "h3=\":8443\"", "h3=\"other.example:443\"", "h3-29=\":443\"",
            "h3=\":443\"; ma=0", "h3=\"443\"", "H3=\":443\"",
        ])
    func withdrawn(value: String) {
        #expect(read(value) == .withdrawn)
    }

    @Test(
        "what is malformed says nothing",
        arguments: [
            "", " ", "h3", "h3=", "h3=:443", "h3=\":443", "h3=\":443\" ma=60", "h3=\":443\"; ma", "h3=\":443\"; ma=x",
            "h3=\":443\"; ma=-1", "h3=\":443\"; ma=\"\"", "clear, h3=\":443\"", "h3=\":443\\", "h3=\":443\"\"",
        ])
    func malformed(value: String) {
        #expect(read(value) == nil)
    }

    @Test("several fields count together")
    func several() {
        #expect(read() == nil)
        #expect(read("h2=\":443\"", "h3=\":443\"; ma=60", "clear") == .announced(for: .seconds(60)))
        #expect(read("h3", "h3=\":443\"; ma=60") == .announced(for: .seconds(60)))
        #expect(read("h3=\"[::1]:8443\"", host: "[::1]", port: 8443) == .announced(for: .seconds(86_400)))
    }
}
#endif
