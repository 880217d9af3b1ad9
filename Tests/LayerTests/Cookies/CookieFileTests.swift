import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@testable import Errand

@Suite("A jar with a file", .timeLimit(.minutes(10))) struct CookieFileTests {
    private let scratch: Scratch
    private let path: String
    private let soon = Date(timeIntervalSinceNow: 3600)

    init() throws {
        scratch = try Scratch()
        path = scratch.path("cookies")
    }

    private func cookie(_ name: String, _ value: String = "1", expires: Bool = true) -> Cookie {
        Cookie(name, value, domain: "api.test", expires: expires ? soon : nil)
    }

    private func saved() throws -> [String] { try JarFile(path).read().map(\.cookie.pair) }

    @Test("J5: cookies with an expiry are saved, readable by their owner alone, and read again")
    func saves() async throws {
        let jar = CookieJar(file: path)
        try jar.insert([cookie("a"), cookie("session", expires: false), cookie("b", "x\"y\\z é")])
        #expect(await jar.cookies.map(\.name) == ["a", "session", "b"])
        await jar.waitUntilSaved()
        #expect(try scratch.mode("cookies") == 0o600)
        #expect(!scratch.exists("cookies.new"))
        let again = CookieJar(file: path)
        #expect(await again.cookies == [cookie("a"), cookie("b", "x\"y\\z é")])
        #expect(jar.storageError == nil && again.storageError == nil)
    }

    @Test("J5: every change of a saved cookie is written, and the file goes with the last of them")
    func changes() async throws {
        let jar = CookieJar(file: path)
        try jar.insert([cookie("a")])
        await jar.waitUntilSaved()
        try jar.insert([cookie("a", "2"), cookie("b")])
        await jar.waitUntilSaved()
        #expect(try saved() == ["a=2", "b=1"])
        jar.removeAll()
        #expect(await jar.cookies.isEmpty)
        await jar.waitUntilSaved()
        #expect(!scratch.exists("cookies"))
    }

    @Test("J5: what is removed before the file has been read is removed from the file too")
    func removedUnread() async throws {
        try JarFile(path).write([JarFile.Entry(cookie: cookie("a"))])
        let jar = CookieJar(file: path)
        jar.removeAll()
        try jar.insert([cookie("b")])
        await jar.waitUntilSaved()
        #expect(await jar.cookies.map(\.pair) == ["b=1"])
        #expect(try saved() == ["b=1"])
    }

    @Test("J5: a cookie that was added before the file has been read is newer than the file's")
    func insertedUnread() async throws {
        try JarFile(path).write([JarFile.Entry(cookie: cookie("a")), JarFile.Entry(cookie: cookie("b"))])
        let jar = CookieJar(file: path)
        try jar.insert([cookie("a", "2")])
        #expect(await jar.cookies.map(\.pair) == ["a=2", "b=1"])
        await jar.waitUntilSaved()
        #expect(try saved() == ["a=2", "b=1"])
    }

    @Test("J5: the cookies of a session that ends before the file has been read are removed from it")
    func endedUnread() async throws {
        let session = UUID()
        try JarFile(path).write([
            JarFile.Entry(cookie: cookie("a"), owner: session), JarFile.Entry(cookie: cookie("b"), owner: UUID()),
            JarFile.Entry(cookie: cookie("c")),
        ])
        let jar = CookieJar(file: path)
        jar.remove(session: session)
        #expect(await jar.cookies.map(\.name) == ["b", "c"])
        await jar.waitUntilSaved()
        #expect(try saved() == ["b=1", "c=1"])
    }

    @Test("J5: the owner is saved too, and a sign-out removes what an earlier run has saved")
    func owners() async throws {
        let (network, clock) = (scripted(), TestClock())
        let session = SavedSession(id: UUID(), token: Token(accessToken: "ann"), received: clock.date)
        let expires = clock.date.addingTimeInterval(60)
        let own = Cookie("own", "1", domain: "api.test", expires: expires)
        let foreign = Cookie("foreign", "1", domain: "api.test", expires: expires)
        try JarFile(path).write([
            JarFile.Entry(cookie: own, owner: session.id), JarFile.Entry(cookie: foreign, owner: UUID()),
        ])
        try await FileTokenPersistence(path: scratch.path("session")).save(session)
        let tokens = TokenStore(persistence: .file(scratch.path("session")), time: clock)
        let jar = CookieJar(file: path)
        let client = testClient(network, clock) {
            $0.tokens = tokens
            $0.cookies = jar
        }
        network.on(.get, "/me", .status(204), .status(204, headers: ["Set-Cookie": "new=1; Max-Age=9"]))
        try await client.run(.get("me"))
        try await client.run(.get("me"))
        #expect(network.sent.map { $0.request.headers["Cookie"] } == ["own=1", "own=1"])
        #expect(try saved().sorted() == ["foreign=1", "new=1", "own=1"])
        await tokens.signOut()
        await jar.waitUntilSaved()
        #expect(try saved() == ["foreign=1"])
    }

    @Test("J5: the cookies of a session that no later process knows are kept in memory alone")
    func unsavedSession() async throws {
        let (network, clock) = (scripted(), TestClock())
        let jar = CookieJar(file: path)
        let login = testClient(network, clock) { $0.cookies = jar }
        let tokens = TokenStore(time: clock) { _ in
            Token(accessToken: try await login.run(Endpoint<String>.post("refresh")))
        }
        let client = testClient(network, clock) {
            $0.tokens = tokens
            $0.cookies = jar
        }
        func cookie(_ name: String) -> HTTPHeaders {
            ["Set-Cookie": "\(name)=1; Path=/; Max-Age=60", "Content-Type": "text/plain"]
        }
        network.on(.get, "/news", .status(204, headers: cookie("news")))
        network.on(.get, "/me", .status(401, headers: cookie("me")), .status(204))
        network.on(.post, "/refresh", .status(200, headers: cookie("refresh"), body: "new"))
        await tokens.signIn(Token(accessToken: "old"))
        try await client.run(.get("me"))
        try await client.run(.get("news").authentication(.none))
        await jar.waitUntilSaved()
        #expect(try saved() == ["news=1"])
        #expect(await Set(jar.cookies.map(\.name)) == ["me", "refresh", "news"])
        await tokens.signOut()
        #expect(await jar.cookies.map(\.name) == ["news"])
        // Or the folder would be created again after the test.
        await jar.waitUntilSaved()
    }

    @Test("J5: a process that has not used the session signs out, and its cookies are removed from the file")
    func signOutUnread() async throws {
        let (network, clock) = (scripted(), TestClock())
        let session = SavedSession(id: UUID(), token: Token(accessToken: "ann"), received: clock.date)
        let expires = clock.date.addingTimeInterval(60)
        try JarFile(path).write([
            JarFile.Entry(cookie: Cookie("own", "1", domain: "api.test", expires: expires), owner: session.id)
        ])
        try await FileTokenPersistence(path: scratch.path("session")).save(session)
        let tokens = TokenStore(persistence: .file(scratch.path("session")), time: clock)
        let jar = CookieJar(file: path)
        let client = testClient(network, clock) {
            $0.tokens = tokens
            $0.cookies = jar
        }
        await tokens.signOut()
        await tokens.waitUntilSaved()
        #expect(!scratch.exists("cookies"))
        withExtendedLifetime(client) {}
    }

    @Test("J5: the end of a session says when its cookies are removed from the file", arguments: [true, false])
    func awaitedRemoval(isRead: Bool) async throws {
        let session = UUID()
        try JarFile(path).write([JarFile.Entry(cookie: cookie("a"), owner: session)])
        let jar = CookieJar(file: path)
        if isRead { #expect(await jar.cookies.count == 1) }
        let held = await HeldPlace(path)
        let removal = try #require(jar.remove(session: session))
        #expect(!removal.isOpen && scratch.exists("cookies"))
        held.release()
        await removal.opened()
        #expect(!scratch.exists("cookies"))
        #expect(jar.remove(session: session) == nil)
    }

    @Test(
        "J5: a damaged file is moved aside and reported, and the jar begins empty",
        arguments: [
            "", "{", "[]", "\0\0", #"{"version":1}"#, #"{"version":1,"cookies":[{}]}"#,
            #"{"version":2,"cookies":[]}"#, #"{"version":1,"cookies":[]}x"#,
            #"{"version":1,"cookies":[{"cookie":{"name":"a;b","value":"","domain":"a.b","isHostOnly":true,"path":"/","#
                + #""isSecure":true,"isHTTPOnly":false,"isPartitioned":false}}]}"#,
        ])
    func damaged(content: String) async throws {
        try scratch.write(content, to: "cookies")
        let (network, warnings) = (scripted(), Noted<[String]>([]))
        network.on(.get, "/a", .status(204, headers: ["Set-Cookie": "a=1; Max-Age=9"]), .status(204))
        let jar = CookieJar(file: path)
        let client = testClient(network, TestClock()) {
            $0.cookies = jar
            $0.observe = { event in if case .warned(let text) = event.kind { warnings.update { $0.append(text) } } }
        }
        try await client.run(.get("a"))
        try await client.run(.get("a"))
        #expect(network.sent.last?.request.headers["Cookie"] == "a=1")
        #expect(try scratch.read("cookies.damaged") == content)
        #expect(warnings.value.count == 1)
        #expect(warnings.value.first?.contains("kept aside as \(path).damaged") == true)
        await jar.waitUntilSaved()
        #expect(try saved() == ["a=1"])
    }

    @Test("J5: a file that cannot be read stays as it is, and the cookies are kept in memory")
    func unreadable() async throws {
        try scratch.write("{}", to: "cookies")
        try scratch.setMode(0o644, of: "cookies")
        let jar = CookieJar(file: path)
        #expect(await jar.cookies.isEmpty)
        try jar.insert([cookie("a")])
        await jar.waitUntilSaved()
        #expect(await jar.cookies.map(\.pair) == ["a=1"])
        #expect(try scratch.read("cookies") == "{}")
        #expect(jar.storageError?.detail.contains("is open to other users") == true)
    }

    @Test("J5: a file that cannot be written is reported, and written when that is possible")
    func unwritable() async throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        let folder = CookieJar(file: path)
        _ = await folder.cookies
        #expect(folder.storageError != nil)

        let other = scratch.path("folder/cookies")
        try scratch.write("in the way", to: "folder")
        let jar = CookieJar(file: other)
        try jar.insert([cookie("a")])
        _ = await jar.cookies
        await jar.waitUntilSaved()
        #expect(jar.storageError?.detail.contains("is not a folder") == true)
        try FileManager.default.removeItem(atPath: scratch.path("folder"))
        try jar.insert([cookie("b")])
        await jar.waitUntilSaved()
        #expect(jar.storageError == nil)
        #expect(await CookieJar(file: other).cookies.map(\.pair) == ["a=1", "b=1"])
    }

    @Test("J4: a file that lives longer than 400 days, because a clock was wrong, does not")
    func wrongClock() async throws {
        let late = Cookie("a", "1", domain: "api.test", expires: Date(timeIntervalSinceNow: 4e9))
        let gone = Cookie("b", "1", domain: "api.test", expires: Date(timeIntervalSinceNow: -1))
        try JarFile(path).write([JarFile.Entry(cookie: late), JarFile.Entry(cookie: gone)])
        let cookies = await CookieJar(file: path).cookies
        #expect(cookies.map(\.name) == ["a"])
        #expect(try #require(cookies.first?.expires) < Date(timeIntervalSinceNow: 400 * 86_400 + 60))
    }

    @Test("J5: a hundred tasks change a jar at once; the file holds the last state")
    func concurrent() async throws {
        let jar = CookieJar(file: path)
        let cookies = (0..<100).map { cookie("c\($0 % 40)", "\($0)") }
        await withTaskGroup(of: Void.self) { tasks in
            for cookie in cookies { tasks.addTask { try? jar.insert([cookie]) } }
        }
        let kept = await jar.cookies
        await jar.waitUntilSaved()
        #expect(kept.count == 40)
        #expect(await CookieJar(file: path).cookies == kept)
    }

    @Test(
        "a cookie that no server could set is not added",
        arguments: [
            Cookie("a;b", "1", domain: "a.test"), Cookie("a", "1; c=2", domain: "a.test"),
            Cookie("a", "1\r\nX: y", domain: "a.test"), Cookie("a=b", "1", domain: "a.test"),
            Cookie(" a", "1", domain: "a.test"), Cookie("", "", domain: "a.test"),
            Cookie("a", String(repeating: "v", count: 4096), domain: "a.test"), Cookie("a", "1", domain: ""),
            Cookie("a", "1", domain: "A.test"), Cookie("a", "1", domain: "a.test."),
            Cookie("a", "1", domain: "test", isHostOnly: false), Cookie("a", "1", domain: "1.2.3.4", isHostOnly: false),
            Cookie("a", "1", domain: "a.test", path: ""), Cookie("a", "1", domain: "a.test", path: "a"),
            Cookie("a", "1", domain: "a.test", path: "/\n"),
        ])
    func impossible(cookie: Cookie) async {
        let jar = CookieJar()
        #expect(throws: ServiceError.self) { try jar.insert([self.cookie("fine"), cookie]) }
        #expect(await jar.cookies.isEmpty)
    }

    @Test("the cookies of a jar can be put into another, and encoded")
    func export() async throws {
        let (one, other) = (CookieJar(), CookieJar())
        try one.insert([cookie("a"), cookie("b", expires: false), Cookie("", "plain=x", domain: "127.0.0.1")])
        let cookies = await one.cookies
        let data = try JSONEncoder().encode(cookies)
        try other.insert(try JSONDecoder().decode([Cookie].self, from: data))
        #expect(await other.cookies == cookies)
    }
}
