import ErrandTestSupport
import Foundation
import Testing

@testable import Errand

@Suite("Set-Cookie, read as RFC 6265bis (5.6) says") struct SetCookieTests {
    @Test(
        "J1: names and values are what is on both sides of the first equals sign, and are never decoded",
        arguments: [
            ("foo=bar", "foo", "bar"), ("foo", "", "foo"), ("=foo", "", "foo"), ("=a=b", "", "a=b"),
            ("foo=", "foo", ""), ("  A  = BC  ;foo;;;   bar", "A", "BC"), ("  A=== BC  ;foo", "A", "== BC"),
            ("a=\"b c\"  ; x", "a", "\"b c\""), ("a=\"zz;pp\" ; ;", "a", "\"zz"), ("a=%20%3B", "a", "%20%3B"),
            ("a=B\"C", "a", "B\"C"), ("foo=bar, baz=qux", "foo", "bar, baz=qux"), ("a=\tb\tc\t", "a", "b\tc"),
            ("foo=bar; qux=\"aaa;bbb\"; Path=/", "foo", "bar"), ("TOKEN=x==", "TOKEN", "x=="),
            ("春节=回家·路", "春节", "回家·路"), ("a=e\u{301};x", "a", "e\u{301}"),
            ("a b=c d", "a b", "c d"),
        ])
    func pairs(line: String, name: String, value: String) throws {
        let cookie = try #require(SetCookie(line))
        #expect(cookie.name == name)
        #expect(cookie.value == value)
    }

    @Test(
        "J1: a line with a control character, or without a name and a value, sets nothing",
        arguments: [
            "", " ", "\t", "=", " = ", "; bar", ";", "=; Path=/", "a=b\u{7F}", "a=b; Path=/\u{1}", "\u{0}a=b",
            "a=b\r\nSet-Cookie: c=d",
        ])
    func nothing(line: String) {
        #expect(SetCookie(line) == nil)
    }

    @Test("J1: a line with more than 64 attributes sets nothing")
    func attributes() {
        let line = "a=b" + String(repeating: "; Secure", count: 64)
        #expect(SetCookie(line)?.isSecure == true)
        #expect(SetCookie(line + "; Path=/") == nil)
    }

    @Test("J1: of the control characters, only a tab may be in a value")
    func controlCharacters() {
        for code in UInt8(0)..<0x20 {
            let line = "a=b\(Character(UnicodeScalar(code)))c"
            #expect((SetCookie(line) == nil) == (code != 9))
        }
    }

    @Test(
        "J1: attributes are read in any case, the last of a name counts, and what is not known is skipped",
        arguments: [
            ("Secure", true, nil), ("seCURe", true, nil), ("secure=", true, nil), ("SECURE = no", true, nil),
            ("\"Secure\"", false, nil), ("Secure qux", false, nil), ("path=/a", false, "/a"),
            ("PATH = /a ; Path=/b", false, "/b"), ("Path=/a; Path=", false, nil), ("Path=a", false, nil),
            ("Path", false, nil), ("Path=\"/a\"", false, nil), ("Path=/a b=c", false, "/a b=c"),
            ("Path=/a; =/b; /c; Pathe=/d", false, "/a"),
            ("Path=/" + String(repeating: "a", count: 1024), false, nil),
            ("Path=/" + String(repeating: "a", count: 1023), false, "/" + String(repeating: "a", count: 1023)),
        ] as [(String, Bool, String?)])
    func attributes(text: String, isSecure: Bool, path: String?) throws {
        let cookie = try #require(SetCookie("a=b;\(text)"))
        #expect(cookie.isSecure == isSecure)
        #expect(cookie.path == path)
    }

    @Test(
        "J1: Domain loses the dot at its beginning and its capital letters; an empty one is none",
        arguments: [
            ("example.com", "example.com"), (".Example.COM", "example.com"), ("..a", ".a"), ("", nil), (".", nil),
            ("a; Domain=", nil), ("b.c; domain = d.e", "d.e"),
        ] as [(String, String?)])
    func domains(text: String, domain: String?) throws {
        #expect(try #require(SetCookie("a=b; Domain=\(text)")).domain == domain)
    }

    @Test(
        "J1, J3: Max-Age is a whole number of seconds, and what is none is skipped",
        arguments: [
            ("10", 10), ("0", 0), ("-1", -1), ("99999999999999999999", .max), ("-99999999999999999999", -.max),
            ("10; Max-Age=x", 10), ("10; Max-Age=20", 20), ("", nil), ("-", nil), ("+1", nil), ("1.5", nil),
            ("1 0", nil), ("50,399", nil), ("1e3", nil), ("٣", nil), ("--1", nil),
        ] as [(String, Int64?)])
    func maxAges(text: String, seconds: Int64?) throws {
        #expect(try #require(SetCookie("a=b; max-age=\(text)")).maxAge == seconds)
    }

    @Test("J1: of several dates the last that is one counts")
    func expires() throws {
        let date = "Expires=Sun, 06 Nov 1994 08:49:37 GMT"
        for text in [date, "\(date); Expires=soon", "Expires=1 Jan 2000 00:00:00; \(date)"] {
            #expect(try #require(SetCookie("a=b; \(text)")).expires == Date(timeIntervalSince1970: 784_111_777))
        }
    }

    @Test("J8: SameSite, Partitioned and HttpOnly are read")
    func others() throws {
        let cookie = try #require(SetCookie("a=b; samesite=LAX; Partitioned; httponly"))
        #expect(cookie.sameSite == "Lax")
        #expect(cookie.isPartitioned && cookie.isHTTPOnly && !cookie.isSecure)
        #expect(try #require(SetCookie("a=b; SameSite=Strict; SameSite=other")).sameSite == nil)
    }

    @Test("J4: a name and a value of 4,096 bytes together are read, and no longer ones")
    func longest() throws {
        let value = String(repeating: "v", count: 4095)
        #expect(SetCookie("a=\(value); Path=/")?.value == value)
        #expect(SetCookie("ab=\(value)") == nil)
        #expect(SetCookie("a=\(value)v") == nil)
        // Bytes count, not characters.
        #expect(SetCookie("a=\(String(repeating: "é", count: 2048))") == nil)
    }

    private func isPlain(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        return bytes.allSatisfy { $0 >= 0x20 && $0 != 0x7F && $0 != UInt8(ascii: ";") || $0 == 0x09 }
            && ![0x20, 0x09].contains(bytes.first) && ![0x20, 0x09].contains(bytes.last)
    }

    @Test("J1: whatever comes, a cookie has no control character, semicolon or space around it, and reads again")
    func fuzz() {
        let words = [
            "a", "=", ";", ",", " ", "\t", "\"", "Path", "/", "Domain", ".example.com", "Max-Age", "-1", "Expires",
            "Sun, 06 Nov 1994 08:49:37 GMT", "Secure", "HttpOnly", "SameSite", "None", "\u{0}", "\r", "\n", "\u{7F}",
            "é", "\u{301}", "👨‍👩‍👧", "__Host-", "%3B", "\\", "\u{2028}",
            String(repeating: "x", count: 2000),
        ]
        var random = SeededRandom(2)
        let lines = LongRun.isWanted ? 100_000 : 20_000
        var read = 0
        for _ in 0..<lines {
            let line = (0..<random.int(0...12)).map { _ in words.randomElement(using: &random) ?? "" }.joined()
            guard let cookie = SetCookie(line) else { continue }
            read += 1
            let again = SetCookie("\(cookie.name)=\(cookie.value)")
            let isFine =
                [cookie.name, cookie.value].allSatisfy(isPlain) && !cookie.name.utf8.contains(UInt8(ascii: "="))
                && cookie.path?.hasPrefix("/") != false && again?.name == cookie.name && again?.value == cookie.value
            #expect(isFine, "\(line.debugDescription)")
        }
        #expect(read > lines / 10)
    }
}
