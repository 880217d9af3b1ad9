import ErrandTestSupport
import Foundation
import Testing

@testable import Errand

@Suite("What a server may set (RFC 6265bis, 5.7)") struct CookieRulesTests {
    private static let now = Date(timeIntervalSince1970: 1_800_000_000)

    private func cookie(
        _ line: String, from url: String = "https://api.example.com/a/b", sites: [String] = ["example.com"]
    ) throws -> Cookie {
        let source = CookieSource(try HTTPURL(url))
        return try Cookie(SetCookie(line), from: source, sites: CookieSites(sites), at: Self.now)
    }

    private func refusal(
        of line: String, from url: String = "https://api.example.com/a/b", sites: [String] = ["example.com"]
    ) throws -> CookieRefusal? {
        do {
            _ = try cookie(line, from: url, sites: sites)
            return nil
        } catch let refusal as CookieRefusal {
            return refusal
        }
    }

    @Test(
        "J2: a cookie belongs to the host alone, unless it names a domain within the sites",
        arguments: [
            ("a=1", "api.example.com", true), ("a=1; Domain=", "api.example.com", true),
            ("a=1; Domain=example.com", "example.com", false), ("a=1; Domain=.EXAMPLE.com", "example.com", false),
            ("a=1; Domain=example.com.", "example.com", false),
            ("a=1; Domain=api.example.com", "api.example.com", false),
            ("a=1; Domain=other.org; Domain=example.com", "example.com", false),
        ])
    func domains(line: String, domain: String, isHostOnly: Bool) throws {
        for host in ["api.example.com", "API.example.com", "api.example.com."] {
            let cookie = try cookie(line, from: "https://\(host)/")
            #expect(cookie.domain == domain)
            #expect(cookie.isHostOnly == isHostOnly)
        }
    }

    @Test(
        "J2: part of an address, another host, a single label above, a child of the host, and empty labels are refused",
        arguments: [
            ("https://127.0.0.1/", "0.0.1"), ("https://127.0.0.1/", "1"), ("https://[::1]/", "::1"),
            ("https://a.localhost/", "localhost"), ("https://127.0.0.1/", "127.0.0.2"),
            ("https://api.example.com/", "com"), ("https://api.example.com/", "com."),
            ("https://api.example.com/", "..com"), ("https://api.example.com/", "example..com"),
            ("https://api.example.com/", "other.example.com"), ("https://api.example.com/", "other.org"),
            ("https://api.example.com/", "v1.api.example.com"), ("https://api.example.com/", "pi.example.com"),
            ("https://notexample.com/", "example.com"), ("https://api.example.com/", "example.com, other.org"),
            ("https://api.example.com/", "example.com.."), ("https://api.example.com/", "\"example.com\""),
            ("https://2130706433/", "127.0.0.1"), ("https://0x7f.1/", "1"),
            ("https://xn--bcher-kva.example/", "bucher.example"),
        ])
    func refusedDomains(url: String, domain: String) throws {
        let refusal = try refusal(of: "a=1; Domain=\(domain)", from: url, sites: ["example.com", "0.0.1"])
        #expect(refusal == .domain(CookieHost.canonical(domain.first == "." ? String(domain.dropFirst()) : domain)))
    }

    @Test(
        "J2: an address or a single label as the domain is that host alone, and a Unicode name is its host",
        arguments: [
            ("https://127.0.0.1/", "127.0.0.1", "127.0.0.1"), ("https://[::1]/", "[::1]", "[::1]"),
            ("https://localhost/", "localhost", "localhost"), ("https://localhost/", ".LOCALHOST", "localhost"),
            ("https://2130706433/", "2130706433", "2130706433"),
            ("https://xn--bcher-kva.example/", "Bücher.example", "xn--bcher-kva.example"),
            ("https://xn--bcher-kva.example/", "xn--bcher-kva.example", "xn--bcher-kva.example"),
        ])
    func ownDomain(url: String, domain: String, host: String) throws {
        let own = try cookie("a=1; Domain=\(domain)", from: url, sites: ["example.com"])
        #expect(own.domain == host && own.isHostOnly)
    }

    @Test(
        "J2: a Unicode domain is compared in ASCII",
        arguments: [
            ("bücher.example", "xn--bcher-kva.example"), ("münchen.de", "xn--mnchen-3ya.de"),
            ("他们为什么不说中文", "xn--ihqwcrb4cv8a8dqg056pqjye"),
            ("ليهمابتكلموشعربي؟", "xn--egbpdaj6bu4bxfgehfvwxn"),
            ("3年b組金八先生", "xn--3b-ww4c5e180e575a65lsy2b"),
            ("パフィーdeルンバ", "xn--de-jg4avhby1noc0d"),
            ("そのスピードで", "xn--d9juau41awczczp"), ("a.ü.b", "a.xn--tda.b"), ("example.com", "example.com"),
        ])
    func unicode(name: String, ascii: String) {
        #expect(CookieHost.canonical(name) == ascii)
    }

    @Test("J2: a domain above the sites is refused, and without sites one above the host")
    func aboveSites() throws {
        let line = "sid=1; Domain=example.com"
        let refused = CookieRefusal.aboveSites(name: "sid", domain: "example.com")
        #expect(try refusal(of: line, sites: []) == refused)
        #expect(try refusal(of: line, sites: ["api.example.com"]) == refused)
        #expect(try refusal(of: line, sites: ["other.org"]) == refused)
        let suffix = try refusal(of: "sid=1; Domain=co.uk", from: "https://a.co.uk/")
        #expect(suffix == .aboveSites(name: "sid", domain: "co.uk"))
        // The host itself may be a public suffix, so what it sets for all below it stays with it alone.
        let own = try cookie("sid=1; Domain=api.example.com", sites: [])
        #expect(own.domain == "api.example.com" && own.isHostOnly)
    }

    @Test(
        "J3: Secure and the prefixes are kept to",
        arguments: [
            ("a=1; Secure", "https", true), ("a=1; Secure", "http", false), ("a=1", "http", true),
            ("__Secure-a=1", "https", false), ("__Secure-a=1; Secure", "https", true),
            ("__secure-a=1; Path=/", "https", false), ("__Secure-a=1; Secure", "http", false),
            ("__Secure-a=1; Secure; Domain=example.com", "https", true),
            ("__Host-a=1; Secure; Path=/", "https", true), ("__HOST-a=1; Secure", "https", false),
            ("__Host-a=1; Path=/", "https", false), ("__Host-a=1; Secure; Path=/a", "https", false),
            ("__Host-a=1; Secure; Path=/; Domain=example.com", "https", false),
            ("__Host-a=1; Secure; Path=/; Domain=api.example.com", "https", false),
            ("__Host-a=1; Secure; Path=/; Path=a", "https", false),
            ("=__Host-a; Secure; Path=/", "https", false), ("__Secure-a", "https", false),
            ("_Host-a=1", "https", true), ("__Hosta=1", "https", true),
        ])
    func prefixes(line: String, scheme: String, isKept: Bool) throws {
        let refusal = try refusal(of: line, from: "\(scheme)://api.example.com/")
        #expect((refusal == nil) == isKept)
    }

    @Test(
        "J3: Max-Age goes before Expires, and none is longer than 400 days",
        arguments: [
            ("Max-Age=60", 60), ("Max-Age=60; Expires=Sun, 06 Nov 1994 08:49:37 GMT", 60),
            ("Max-Age=99999999999999999999", 34_560_000), ("Max-Age=34560001", 34_560_000),
            ("Expires=Fri, 31 Dec 9999 23:59:59 GMT", 34_560_000),
            ("Expires=Fri, 15 Jan 2027 08:01:00 GMT", 60), ("Max-Age=x; Expires=Fri, 15 Jan 2027 08:01:00 GMT", 60),
        ] as [(String, Double)])
    func lifetimes(attributes: String, seconds: Double) throws {
        #expect(try cookie("a=1; \(attributes)").expires == Self.now.addingTimeInterval(seconds))
    }

    @Test(
        "J3: a cookie whose time is over has expired",
        arguments: [
            "Max-Age=0", "Max-Age=-1", "Expires=Sun, 06 Nov 1994 08:49:37 GMT",
            "Max-Age=0; Expires=Fri, 31 Dec 9999 23:59:59 GMT", "Expires=Fri, 15 Jan 2027 08:00:00 GMT",
        ])
    func expired(attributes: String) throws {
        #expect(try cookie("a=1; \(attributes)").hasExpired(at: Self.now))
        #expect(try !cookie("a=1").hasExpired(at: .distantFuture))
    }

    @Test("J1, J8: the rest is kept as it is")
    func rest() throws {
        let cookie = try cookie("a=1; HttpOnly; SameSite=None; Partitioned; Path=/x")
        #expect(
            cookie
                == Cookie(
                    "a", "1", domain: "api.example.com", path: "/x", isSecure: false, isHTTPOnly: true,
                    sameSite: "None", isPartitioned: true))
        #expect(try self.cookie("a=1").path == "/a")
        #expect(try refusal(of: "\u{1}") == .malformed)
    }
}
