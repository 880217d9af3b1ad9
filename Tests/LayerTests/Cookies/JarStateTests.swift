import ErrandTestSupport
import Foundation
import Testing

@testable import Errand

@Suite("The cookies of a jar, as a value") struct JarStateTests {
    @Test("J1: longer paths go first, and older cookies before newer ones; another value keeps its place")
    func order() throws {
        var scene = JarScene()
        try scene.set("a=1; Path=/", "b=2; Path=/x/y", "c=3; Path=/x", "d=4; Path=/", "e=5; Path=/x/y")
        #expect(try scene.header("https://api.example.com/x/y/z") == "b=2; e=5; c=3; a=1; d=4")
        try scene.set("a=6; Path=/", "b=7; Path=/x/y")
        #expect(try scene.header("https://api.example.com/x/y/z") == "b=7; e=5; c=3; a=6; d=4")
        // One that was deleted is new when it comes again.
        try scene.set("a=; Path=/; Max-Age=0", "a=8; Path=/")
        #expect(try scene.header() == "d=4; a=8")
    }

    @Test("J1: the same name with another domain, path or case is another cookie")
    func identity() throws {
        var scene = JarScene()
        try scene.set("a=1; Path=/", "A=2; Path=/")
        try scene.set("a=3; Path=/; Domain=api.example.com", "a=4; Path=/; Domain=example.com")
        #expect(try scene.header() == "a=1; A=2; a=3; a=4")
        #expect(scene.jar.count == 4)
        #expect(try scene.header("https://v1.api.example.com/") == "a=3; a=4")
        #expect(try scene.header("https://example.com/") == "a=4")
        #expect(try scene.header("https://other.org/") == nil)
    }

    @Test("J1: a value without a name is sent without an equals sign")
    func nameless() throws {
        var scene = JarScene()
        try scene.set("plain", "=also; Path=/", "x=")
        #expect(try scene.header() == "also; x=")
    }

    @Test("J2: a trailing dot in a host is no other host")
    func trailingDot() throws {
        var scene = JarScene()
        try scene.set("a=1", from: "https://api.example.com./")
        #expect(try scene.header() == "a=1")
        #expect(try scene.header("https://API.example.com./") == "a=1")
        #expect(scene.jar.count == 1)
    }

    @Test("J2: an address is matched as a whole")
    func addresses() throws {
        var scene = JarScene()
        try scene.set("a=1", from: "https://127.0.0.1/")
        try scene.set("b=2", from: "https://[::1]/")
        #expect(try scene.header("https://127.0.0.1/") == "a=1")
        #expect(try scene.header("https://0.0.1/") == nil)
        #expect(try scene.header("https://[::1]/") == "b=2")
    }

    @Test("J3: a Secure cookie goes over https only")
    func secure() throws {
        var scene = JarScene()
        try scene.set("a=1; Secure", "b=2")
        #expect(try scene.header() == "a=1; b=2")
        #expect(try scene.header("http://api.example.com/") == "b=2")
    }

    @Test(
        "J3: over http, a Secure cookie is not replaced, hidden or deleted",
        arguments: [
            "sid=evil", "sid=evil; Domain=example.com", "sid=evil; Path=/login", "sid=; Max-Age=0",
            "sid=evil; Domain=api.example.com", "sid=evil; Secure",
            // Sent, this is the same.
            "=sid=evil", "= sid = evil; Domain=example.com", "==sid=evil", "= =sid=evil; Domain=example.com",
        ])
    func leaveSecureAlone(line: String) throws {
        for attribute in ["", "; Domain=example.com", "; Domain=api.example.com"] {
            let owner = UUID()
            for owner in [nil, owner] {
                var scene = JarScene()
                try scene.set("sid=1; Secure; Path=/\(attribute)", of: owner)
                #expect(try !scene.set(line, from: "http://api.example.com/login/x"))
                #expect(try scene.header("https://api.example.com/login/x", of: owner) == "sid=1")
            }
        }
    }

    @Test("J3: over http, a Secure cookie does not stop those that it has nothing to do with")
    func besideSecure() throws {
        var scene = JarScene()
        try scene.set("sid=1; Secure; Path=/login")
        #expect(try scene.set("sid=2; Path=/", "other=3; Path=/login", from: "http://api.example.com/"))
        #expect(try scene.set("sid=4; Path=/login", from: "http://www.example.com/"))
        // Over https it may be replaced by one that is not.
        #expect(try scene.set("sid=5; Path=/login"))
        #expect(try scene.header("http://api.example.com/login") == "sid=5; other=3; sid=2")
    }

    @Test("J3: a cookie is not sent from the instant of its expiry on, and Max-Age=0 deletes it")
    func expiry() throws {
        var scene = JarScene()
        try scene.set("a=1; Max-Age=60", "b=2; Max-Age=61", "c=3")
        scene.now = JarScene.start.addingTimeInterval(59.9)
        #expect(try scene.header() == "a=1; b=2; c=3")
        scene.now = JarScene.start.addingTimeInterval(60)
        #expect(try scene.header() == "b=2; c=3")
        try scene.set("c=; Max-Age=0")
        #expect(try scene.header() == "b=2")
        // What expires is gone for good, whatever the clock says later.
        try scene.set("d=4")
        scene.now = JarScene.start
        #expect(try scene.header() == "b=2; d=4")
    }

    @Test("J4: of more than 50 cookies of a host, those that were set longest ago go")
    func perHost() throws {
        var scene = JarScene()
        for number in 0..<60 { try scene.set("c\(number)=x") }
        #expect(scene.jar.count == 50)
        #expect(try scene.header()?.hasPrefix("c10=x; c11=x") == true)
        // One that is set again is not the oldest any more.
        try scene.set("c10=y", "c60=x")
        #expect(try scene.header()?.hasPrefix("c10=y; c12=x") == true)
        // Other hosts and the site have lists of their own.
        try scene.set("a=1; Domain=example.com", "b=2", from: "https://www.example.com/")
        #expect(scene.jar.count == 52)
    }

    @Test("J4: of more than 3,000 cookies in all, those that were set longest ago go")
    func total() throws {
        var scene = JarScene()
        for number in 0..<3100 { try scene.set("a=\(number)", from: "https://h\(number).example.com/") }
        #expect(scene.jar.count == 3000)
        #expect(try scene.header("https://h99.example.com/") == nil)
        #expect(try scene.header("https://h100.example.com/") == "a=100")
        // Those that have expired go before any other.
        scene.now += 10
        try scene.set("a=1; Max-Age=1", from: "https://h3050.example.com/")
        scene.now += 10
        try scene.set("a=1", from: "https://new.example.com/")
        #expect(try scene.header("https://h100.example.com/") == "a=100")
        #expect(try scene.header("https://new.example.com/") == "a=1")
        #expect(scene.jar.count == 3000)
    }

    @Test("J4: large cookies are limited by their bytes")
    func bytes() throws {
        var scene = JarScene()
        let value = String(repeating: "v", count: 4095)
        for number in 0..<600 { try scene.set("a=\(value)", from: "https://h\(number).example.com/") }
        #expect(scene.jar.bytes <= 1 << 20)
        #expect((240...260).contains(scene.jar.count))
        #expect(try scene.header("https://h599.example.com/")?.utf8.count == 4097)
    }

    @Test("J4: a header is never longer than servers accept; what does not fit is left out")
    func longestHeader() throws {
        var scene = JarScene()
        let value = String(repeating: "v", count: 4000)
        try scene.set("a=\(value)", "b=\(value)", "c=\(value)", "sid=1")
        #expect(try scene.header() == "a=\(value); b=\(value); sid=1")
        for number in 0..<46 { try scene.set("c\(number)=\(value)") }
        let header = try #require(try scene.header())
        #expect("Cookie: \(header)".utf8.count <= 8190)
    }

    @Test("J3, J4: over http, no Secure cookie is pushed out")
    func secureStays() throws {
        var scene = JarScene()
        for number in 0..<49 { try scene.set("s\(number)=x; Secure") }
        for number in 0..<9 { #expect(try scene.set("p\(number)=x", from: "http://api.example.com/")) }
        #expect(scene.jar.count == 50)
        #expect(try scene.header()?.hasPrefix("s0=x; s1=x") == true)
        #expect(try scene.header("http://api.example.com/") == "p8=x")
        try scene.set("p8=x; Secure")
        #expect(try !scene.set("p9=x", from: "http://api.example.com/"))
        #expect(try scene.header()?.hasPrefix("s0=x; s1=x") == true)

        var small = JarScene(JarState.Limits(total: 2))
        try small.set("a=1; Secure", from: "https://a.example.com/")
        try small.set("b=1; Secure", from: "https://b.example.com/")
        try small.set("c=1", from: "http://c.example.com/")
        #expect(try small.header("https://a.example.com/") == "a=1")
        #expect(try small.header("https://b.example.com/") == "b=1")
        #expect(small.jar.count == 2)
    }

    @Test("J5: a session's cookies are its own, and go with it")
    func owners() throws {
        let (ann, bob) = (UUID(), UUID())
        var scene = JarScene()
        try scene.set("sid=ann; Path=/", of: ann)
        try scene.set("sid=bob; Path=/", of: bob)
        #expect(try scene.header() == nil)
        try scene.set("sid=none; Path=/", "lang=en; Path=/")
        #expect(try scene.header() == "sid=none; lang=en")
        #expect(try scene.header(of: ann) == "sid=ann; lang=en")
        // The first session that has sent it keeps it.
        #expect(try scene.header() == "sid=none")
        #expect(try scene.header(of: bob) == "sid=bob")
        scene.jar.removeAll(of: ann)
        #expect(try scene.header(of: ann) == "sid=none")
        #expect(try scene.header(of: bob) == "sid=bob")
        #expect(scene.jar.count == 2)
    }

    @Test("J3, J5: a session that deletes a cookie also deletes the one of no session that it has hidden")
    func deletesHidden() throws {
        let ann = UUID()
        var scene = JarScene()
        try scene.set("sid=login; Path=/api")
        try scene.set("sid=; Path=/api; Max-Age=0", from: "https://api.example.com/logout", of: ann)
        #expect(try scene.header("https://api.example.com/api", of: ann) == nil)
        #expect(scene.jar.count == 0)
    }

    @Test("J5: the cookie of a login belongs to the session that sends it first, and not to the next user")
    func adopted() throws {
        let (ann, bob) = (UUID(), UUID())
        var scene = JarScene()
        try scene.set("sid=ann; Path=/")
        #expect(try scene.header("https://api.example.com/me", of: ann) == "sid=ann")
        scene.jar.removeAll(of: ann)
        #expect(try scene.header(of: bob) == nil)
        #expect(scene.jar.count == 0 && scene.jar.bytes == 0)
    }
}
