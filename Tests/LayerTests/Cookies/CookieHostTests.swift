import ErrandTestSupport
import Testing

@testable import Errand

@Suite("Hosts, sites and paths of cookies") struct CookieHostTests {
    @Test(
        "J2: a host is within itself and the domains above it",
        arguments: [
            ("example.com", "example.com", true), ("api.example.com", "example.com", true),
            ("a.b.example.com", "example.com", true), ("API.Example.com", "example.com", true),
            ("example.com.", "example.com", true), ("notexample.com", "example.com", false),
            ("example.com", "api.example.com", false), ("example.com", "ample.com", false),
            (".example.com", "example.com", true), ("example.com.evil.org", "example.com", false),
            ("127.0.0.1", "0.0.1", false), ("127.0.0.1", "127.0.0.1", true), ("1.2.3.4", "4", false),
            ("[::1]", "[::1]", true), ("[::ffff:1.2.3.4]", "3.4]", false), ("example.com..", "example.com", false),
        ])
    func within(host: String, domain: String, isWithin: Bool) {
        #expect(CookieHost(host).isWithin(domain) == isWithin)
        #expect(CookieHost(host).domains.contains(domain) || !isWithin)
    }

    @Test(
        "J2: what is an address has no parents",
        arguments: [
            ("127.0.0.1", true), ("127.1", true), ("2130706433", true), ("0x7f.1", true), ("0x7f000001", true),
            ("a.0x1F", true), ("[::1]", true), ("1.2.3.4.", true), ("1.2.3.a", false), ("example.com", false),
            ("0x7g", false), ("4.example", false), ("localhost", false),
        ])
    func addresses(name: String, isAddress: Bool) {
        #expect(CookieHost(name).isAddress == isAddress)
        if isAddress { #expect(CookieHost(name).domains.count == 1) }
    }

    @Test(
        "J2: a site is a domain of two labels or more",
        arguments: [
            ("example.com", true), (".Example.com", true), ("example.com.", true), ("a.b.example.com", true),
            ("xn--bcher-kva.example", true), ("my_team.example.com", true), ("com", false), ("com.", false),
            ("localhost", false), ("", false), (".", false), ("example..com", false), ("127.0.0.1", false),
            ("https://example.com", false), ("example.com:443", false), ("example.com/a", false),
            ("*.example.com", false), ("bücher.example", true), ("exa mple.com", false),
        ])
    func sites(name: String, isFine: Bool) throws {
        let sites = CookieSites(["fine.example", name])
        #expect((sites.problem == nil) == isFine)
        if let problem = sites.problem { #expect(problem.contains(HTTPSyntax.quoted(CookieSites([name]).names[0]))) }
    }

    @Test(
        "J1: a cookie reaches its path and what lies below it",
        arguments: [
            ("/", "/", true), ("/a", "/", true), ("/a", "/a", true), ("/a/", "/a", true), ("/a/b", "/a", true),
            ("/a/b", "/a/", true), ("/ab", "/a", false), ("/a", "/a/", false), ("/a", "/b", false),
            ("/a", "/A", false), ("/a%2Fb", "/a", false), ("//a", "/", true), ("/a", "//a", false),
        ])
    func paths(path: String, cookiePath: String, reaches: Bool) {
        #expect(CookiePath.reaches(path, from: cookiePath) == reaches)
    }

    @Test(
        "J1: without a path, a cookie belongs to the folder of the request",
        arguments: [
            ("/", "/"), ("/a", "/"), ("/a/", "/a"), ("/a/b", "/a"), ("/a/b/c?", "/a/b"), ("", "/"), ("a/b", "/"),
            ("//", "/"),
        ])
    func folders(path: String, folder: String) {
        #expect(CookiePath.folder(of: path) == folder)
    }
}
