#if os(Linux)
@testable import Errand
import Testing

@Suite("The text of a proxy") struct CurlProxyTextTests {
    @Test(
        "C90: a proxy prints without its user and password, whatever the password contains",
        arguments: [
            ("http://ann:secret@proxy.test:8080", "http://proxy.test:8080"),
            ("http://ann:sec@ret@proxy.test:8080", "http://proxy.test:8080"),
            ("ann:sec@ret@proxy.test", "proxy.test"), ("http://proxy.test:8080", "http://proxy.test:8080"),
        ])
    func credentials(url: String, shown: String) {
        let proxy = CurlTransport.Options.Proxy.url(url)
        #expect("\(proxy)" == shown)
        var dumped = ""
        dump(proxy, to: &dumped)
        #expect(!dumped.contains("ret"))
    }

    @Test(
        "the host and the port that the URL of a proxy names, without the zone of an address",
        arguments: [
            ("http://ann:sec@ret@proxy.test:8080/x?y", "http://proxy.test:8080"), ("proxy.test", "http://proxy.test"),
            ("socks5h://127.0.0.1:1080", "http://127.0.0.1:1080"), ("http://[::1]:8080", "http://[::1]:8080"),
            ("http://[fe80::1%25eth0]:8080", "http://[fe80::1]:8080"),
            ("[fe80::1%eth0]", "http://[fe80::1]"), ("", nil), ("socks://", nil), ("ftp://proxy.test", nil),
            ("http://[fe80::1%25eth0", nil), ("http://proxy .test", nil), ("http://proxy.test%25eth0", nil),
        ])
    func origin(url: String, origin: String?) {
        #expect(CurlTransport.Options.Proxy.url(url).origin.map { "\($0)" } == origin)
    }
}
#endif
