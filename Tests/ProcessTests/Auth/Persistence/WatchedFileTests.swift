#if os(Linux)
@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("T20: a session file that another process changes", .timeLimit(.minutes(10)))
struct WatchedFileTests {
    private let scratch: Scratch
    private let refreshes = Noted(0)

    init() throws {
        scratch = try Scratch()
    }

    private var file: FileTokenPersistence { FileTokenPersistence(path: scratch.path("app/session")) }

    /// Creates a store in real time, as another process would.
    private func store() -> TokenStore {
        TokenStore(persistence: file) { [refreshes] old in
            refreshes.update { $0 += 1 }
            return Token(accessToken: old.accessToken + "'", refreshToken: "r")
        }
    }

    private func client(_ tokens: TokenStore, _ network: ScriptedTransport) -> APIClient {
        APIClient("https://api.example.com") {
            $0.transport = network
            $0.tokens = tokens
            $0.rateLimit = .unlimited
        }
    }

    @Test("T20: a sign-out in one store ends the calls and the streams of the other, and its session")
    func signOut() async throws {
        let (here, there) = (store(), store())
        let network = ScriptedTransport()
        network.on(.get, "/log", .chunks([Data("one\n".utf8)]).thenSilence)
        network.on(.get, "/x", .silence)
        await there.signIn(Token(accessToken: "ann"))
        #expect(await here.isSignedIn)
        let client = client(here, network)
        let log = try await client.stream(.get("log"))
        async let ended = failure { () async throws(ServiceError) in for try await _ in log.lines {} }
        async let answered = failure { () async throws(ServiceError) in try await client.run(Endpoint<String>.get("x"))
        }
        await network.sent(atLeast: 2)
        await there.signOut()
        #expect(await ended?.reason == .signedOut)
        #expect(await answered?.reason == .signedOut)
        #expect(await here.isSignedIn == false)
    }

    @Test("T20: a sign-in and a refresh in one store are used by the other, without a refresh of its own")
    func signInAndRefresh() async throws {
        let (here, there) = (store(), store())
        let events = here.events
        #expect(await here.isSignedIn == false)
        let old = Token(accessToken: "ann", refreshToken: "r")
        await there.signIn(old)
        #expect(await first(1, of: events) == [.signedIn])
        #expect(try await here.token() == old)
        _ = try await there.replacement(for: old)
        #expect(await first(1, of: events) == [.refreshed])
        #expect(try await here.token().accessToken == "ann'")
        #expect(try await here.replacement(for: old).accessToken == "ann'")
        #expect(refreshes.value == 1)
    }

    @Test("T20: another process signs another user in, refreshes, and signs out")
    func process() async throws {
        let here = store()
        let events = here.events
        await here.signIn(Token(accessToken: "access.0", refreshToken: "refresh.0"))
        #expect(await first(1, of: events) == [.signedIn])

        let refresher = try Child("replace", scratch.path("app/session"), scratch.path("server"), "1")
        try await refresher.firstWord()
        refresher.go()
        #expect(await first(1, of: events) == [.refreshed])
        #expect(try await here.token().accessToken == "access.1")
        #expect(try await refresher.end().status == 0)

        #expect(try await Child("save", scratch.path("app/session")).end().status == 0)
        #expect(await first(1, of: events) == [.signedIn])
        #expect(try await here.token().accessToken == "a")

        #expect(try await Child("remove", scratch.path("app/session")).end().status == 0)
        #expect(await first(1, of: events) == [.signedOut])
        #expect(await here.isSignedIn == false)
        #expect(refreshes.value == 0)
    }

    @Test("T20: its own changes are no news to a store")
    func own() async throws {
        let here = store()
        let events = here.events
        let old = Token(accessToken: "ann", refreshToken: "r")
        await here.signIn(old)
        _ = try await here.replacement(for: old)
        await here.signOut()
        await here.signIn(Token(accessToken: "bo"))
        await store().signOut()
        #expect(await first(5, of: events) == [.signedIn, .refreshed, .signedOut, .signedIn, .signedOut])
    }

    @Test("T20: a file that another program damages is reported and signs no user out")
    func damaged() async throws {
        let here = store()
        let events = here.events
        await here.signIn(Token(accessToken: "ann"))
        #expect(await first(1, of: events) == [.signedIn])
        try scratch.write("no session", to: "app/other")
        #expect(rename(scratch.path("app/other"), scratch.path("app/session")) == 0)
        guard case .notSaved(let problem)? = await first(1, of: events).first else {
            Issue.record("the damaged file is not reported")
            return
        }
        #expect(problem.kind == .damaged)
        #expect(try await here.token().accessToken == "ann")
    }

    @Test("T20: a folder that is removed is reported and signs no user out; what is saved there later is used")
    func folder() async throws {
        let (here, there) = (store(), store())
        let events = here.events
        await here.signIn(Token(accessToken: "ann"))
        #expect(await first(1, of: events) == [.signedIn])
        #expect(rename(scratch.path("app"), scratch.path("gone")) == 0)
        guard case .notSaved(let problem)? = await first(1, of: events).first else {
            Issue.record("the missing folder is not reported")
            return
        }
        #expect(problem.kind == .missingFolder)
        #expect(try await here.token().accessToken == "ann")
        await there.signIn(Token(accessToken: "bo"))
        // The folder may be missed twice, and be there for a moment before the file is.
        for await event in events where event == .signedIn { break }
        #expect(try await here.token().accessToken == "bo")
    }

    @Test("a store that is released watches no more")
    func released() async throws {
        let watched = Noted<[Bool]>([])
        for _ in 0..<20 {
            let here = store()
            await here.signIn(Token(accessToken: "ann"))
            watched.value.append(true)
        }
        // The watch of each was for the folder of this test, so none is left for it.
        let folder = try inode(of: scratch.path("app"))
        while inotifyWatches().contains(folder) { try await Task.sleep(for: .milliseconds(5)) }
    }

    private func inode(of path: String) throws -> String {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        return String(try #require(attributes[.systemFileNumber] as? UInt64), radix: 16)
    }

    /// Returns the inodes that this process watches.
    private func inotifyWatches() -> Set<String> {
        let folder = "/proc/self/fdinfo"
        let files = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        let lines = files.flatMap { name in
            ((try? String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8)) ?? "").split(separator: "\n")
        }
        return Set(
            lines.filter { $0.hasPrefix("inotify ") }.flatMap { line in
                line.split(separator: " ").filter { $0.hasPrefix("ino:") }.map { String($0.dropFirst(4)) }
            })
    }
}
#endif
