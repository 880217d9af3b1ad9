#if os(Linux)
import Errand
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
}
#endif
