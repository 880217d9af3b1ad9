import ErrandTestSupport
import Foundation
import Testing

@testable import Errand

/// What has gone wrong in a cookie engine that the whole world uses. The names are those of curl's security advisories.
@Suite("Cookie faults that curl has published") struct CookieFaultTests {
    @Test("J2: CVE-2014-3613: a part of an address is no domain")
    func partOfAddress() throws {
        var scene = JarScene()
        #expect(try !scene.set("a=1; Domain=168.0.1", from: "https://192.168.0.1/"))
        #expect(try !scene.set("a=1; Domain=168.0.1", from: "https://129.168.0.1/"))
        #expect(try scene.header("https://129.168.0.1/") == nil)
    }

    @Test("J2: CVE-2014-3620, CVE-2022-27779: no cookie is for a top-level domain, with or without a dot at its end")
    func topLevel() throws {
        var scene = JarScene()
        for domain in ["com", ".com", "com.", ".com.", "COM"] {
            for host in ["example.com", "example.com."] {
                #expect(try !scene.set("a=1; Domain=\(domain)", from: "https://\(host)/"))
            }
        }
        #expect(scene.jar.count == 0)
    }

    @Test("J1: CVE-2015-3145, CVE-2025-9086: a path that is a quotation mark, empty or a slash")
    func paths() throws {
        var scene = JarScene()
        let lines = ["a=1; Path=\"", "b=2; Path=\"\"", "c=3; Path=", "d=4; Path=/"]
        for line in lines { try scene.set(line, from: "https://api.example.com/x/y") }
        #expect(try scene.header("https://api.example.com/x/z") == "a=1; b=2; c=3; d=4")
        #expect(try scene.header("https://api.example.com/") == "d=4")
        // A slash set over http must not be compared with what lies beyond the end of a Secure cookie's path.
        try scene.set("target=1; Secure; Path=/")
        #expect(try !scene.set("target=2; Path=\"/\"", from: "http://api.example.com/"))
        #expect(try scene.header() == "d=4; target=1")
    }

    @Test("J4, J5: CVE-2016-8615: a long line of a file does not become another cookie")
    func longLine() throws {
        let value = String(repeating: "v", count: 4000) + "evil.example.com\tTRUE\t/\tFALSE\t0\tsid\t1"
        let entry = JarFile.Entry(cookie: Cookie("a", value, domain: "api.example.com", expires: .distantFuture))
        let scratch = try Scratch()
        try JarFile(scratch.path("cookies")).write([entry])
        #expect(try JarFile(scratch.path("cookies")).read().map(\.cookie) == [entry.cookie])
    }

    @Test("J4: CVE-2022-32205: very many large cookies of a sister host do not make a request too large")
    func manyCookies() throws {
        var scene = JarScene()
        let value = String(repeating: "v", count: 3000)
        for number in 0..<(LongRun.isWanted ? 10_000 : 1000) {
            try scene.set("c\(number)=\(value); Domain=example.com", from: "https://evil.example.com/")
        }
        try scene.set("sid=1; Path=/")
        #expect(scene.jar.count <= 51)
        let header = try #require(try scene.header())
        #expect(header.utf8.count < 8190)
        #expect(header.hasSuffix("; sid=1"), "a small cookie has its place beside the large ones")
    }

    @Test("J1: CVE-2022-35252: a control character anywhere refuses the cookie")
    func controlCharacters() throws {
        var scene = JarScene()
        for code in Array(0..<9) + Array(10..<32) + [127] {
            let character = String(UnicodeScalar(UInt8(code)))
            let lines = ["a\(character)=1", "a=\(character)1", "a=1; Path=/\(character)", "a=1; x=\(character)"]
            for line in lines { #expect(try !scene.set(line)) }
        }
        #expect(scene.jar.count == 0)
    }

    @Test("J2: CVE-2023-46218: capital letters make no other domain")
    func mixedCase() throws {
        var scene = JarScene()
        // Of `co.UK` the jar need not know that it is a public suffix: it is none of the sites.
        #expect(try !scene.set("a=1; Domain=co.UK", from: "https://curl.co.uk/"))
        #expect(try !scene.set("a=1; Domain=CO.uk", from: "https://CURL.co.uk/"))
        #expect(try scene.set("a=1; Domain=EXAMPLE.Com", from: "https://api.example.COM/"))
        #expect(try scene.header("https://www.example.com/") == "a=1")
    }

    @Test("J1: CVE-2023-38546: a jar has no file that it was not given")
    func noFile() async {
        let jar = CookieJar(file: nil)
        #expect(await jar.cookies.isEmpty)
        #expect(jar.storageError == nil)
    }
}
