@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("A session file that somebody else may have planted or removed", .timeLimit(.minutes(10)))
struct PlantedFileTests {
    private let scratch: Scratch
    private let file: FileTokenPersistence
    private let session = SavedSession(
        id: UUID(), token: Token(accessToken: "a"), received: Date(timeIntervalSince1970: 1e9))

    init() throws {
        scratch = try Scratch()
        file = FileTokenPersistence(path: scratch.path("app/session"))
    }

    @Test("C80: a file that others may read or write is not used, and stays", arguments: [0o666, 0o640, 0o602, 0o610])
    func mode(mode: Int) async throws {
        try await file.save(session)
        try scratch.setMode(mode, of: "app/session")
        let error = await #expect(throws: TokenPersistenceError.self) { try await file.load() }
        #expect(error?.kind == .notPrivate)
        let message = try #require(error?.message)
        #expect(message.contains("mode \(String(mode, radix: 8))") && message.contains("chmod"))
        #expect(scratch.exists("app/session") && !scratch.exists("app/session.damaged"))
        try scratch.setMode(0o600, of: "app/session")
        #expect(try await file.load() == session)
    }

    @Test("C80: a file of another user is not used, and a sign-out does not remove it")
    func owner() async throws {
        try await file.save(session)
        // Only root can give a file away; other users read a file of root's instead.
        let isRoot = geteuid() == 0
        if isRoot { #expect(chown(scratch.path("app/session"), 65534, 65534) == 0) }
        let planted = isRoot ? file : FileTokenPersistence(path: "/etc/passwd")
        let error = await #expect(throws: TokenPersistenceError.self) { try await planted.load() }
        #expect(error?.kind == .notPrivate)
        #expect(error?.message.contains("belongs to another user") == true)
        guard isRoot else { return }
        #expect(await problem { try await file.save(nil) } == .notPrivate)
        #expect(scratch.exists("app/session") && !scratch.exists("app/session.damaged"))
    }

    @Test("C80: the store says why, the user is signed out, and a new sign-in makes the file private again")
    func store() async throws {
        try await file.save(session)
        try scratch.setMode(0o666, of: "app/session")
        let tokens = TokenStore(persistence: file) { $0 }
        #expect(await failure(of: tokens.token)?.reason == .unreadable)
        await tokens.signIn(Token(accessToken: "b"))
        #expect(try await file.load()?.token.accessToken == "b")
        #expect(try scratch.mode("app/session") == 0o600)
    }

    @Test("without a folder no user is signed in, and looking for it does not create it")
    func firstStart() async throws {
        let tokens = TokenStore(persistence: file) { $0 }
        #expect(await tokens.isSignedIn == false)
        #expect(await failure(of: tokens.token) == .signInRequired)
        #expect(!scratch.exists("app"))
        await tokens.signIn(Token(accessToken: "b"))
        #expect(try await file.load()?.token.accessToken == "b")
    }

    @Test("T9: a folder that is missing for a moment signs no user out; a refresh waits until it is back")
    func missingFolder() async throws {
        let clock = TestClock()
        let server = AuthServer(clock, takes: .zero)
        let tokens = TokenStore(persistence: file, time: clock) { try await server.refresh($0) }
        try await clock.runTest {
            let old = server.signIn("ann")
            await tokens.signIn(old)
            let events = tokens.events
            try FileManager.default.moveItem(atPath: scratch.path("app"), toPath: scratch.path("away"))
            let error = await failure { () async throws(ServiceError) in try await tokens.replacement(for: old) }
            guard case .transport(let failure) = error else { throw try #require(error) }
            #expect(failure.kind == .storage && failure.message.contains("is missing"))
            guard case .notSaved(let problem) = await first(1, of: events).first else {
                Issue.record("another event")
                return
            }
            #expect(problem.kind == .missingFolder)
            #expect(await tokens.isSignedIn)
            #expect(!scratch.exists("app"), "a folder made here would say that somebody has signed out")
            try FileManager.default.moveItem(atPath: scratch.path("away"), toPath: scratch.path("app"))
            let newer = try await tokens.replacement(for: old)
            #expect(newer.accessToken == "ann.1")
        }
        #expect(server.refreshes == ["refresh.ann.0"])
        #expect(try await file.load()?.token.accessToken == "ann.1")
    }

    @Test("T15: the refresh is refused, but another process has saved a newer token, which is used")
    func refusedButNewer() async throws {
        let clock = TestClock()
        let tokens = TokenStore(persistence: file, time: clock) { [file] _ in
            // Another process that ran without the lock was faster.
            let saved = try #require(try await file.load())
            try await file.save(saved.continued(with: Token(accessToken: "theirs", refreshToken: "r2"), at: clock.date))
            throw ServiceError.refused
        }
        try await clock.runTest {
            let old = Token(accessToken: "old", refreshToken: "r1")
            await tokens.signIn(old)
            let newer = try await tokens.replacement(for: old)
            #expect(newer.accessToken == "theirs")
            #expect(await tokens.isSignedIn)
        }
        #expect(try await file.load()?.token.accessToken == "theirs")
    }

    @Test("T15: the token that the other process saved has expired as well; its refresh token is used then")
    func refusedButNewerExpired() async throws {
        let clock = TestClock()
        let tokens = TokenStore(persistence: file, time: clock) { [file] old in
            if old.refreshToken == "r2" { return Token(accessToken: "last", refreshToken: "r3") }
            let saved = try #require(try await file.load())
            let theirs = Token(accessToken: "theirs", refreshToken: "r2", expiry: clock.date)
            try await file.save(saved.continued(with: theirs, at: clock.date.addingTimeInterval(-60)))
            throw ServiceError.refused
        }
        try await clock.runTest {
            let old = Token(accessToken: "old", refreshToken: "r1")
            await tokens.signIn(old)
            let newer = try await tokens.replacement(for: old)
            #expect(newer.accessToken == "last")
        }
        #expect(try await file.load()?.token.refreshToken == "r3")
    }

    #if os(Linux)
    @Test(
        "C81: the file is synced before it is renamed, and the folder afterwards, also after a removal",
        .enabled(if: Program.clang.isInstalled, "clang is not installed"))
    func synced() async throws {
        // The preloaded library records what the process syncs, renames and removes.
        let noting = try await scratch.preloading(
            """
            #define _GNU_SOURCE
            #include <dlfcn.h>
            #include <fcntl.h>
            #include <stdio.h>
            #include <stdlib.h>
            #include <string.h>
            #include <unistd.h>
            static void note(const char *what, const char *path) {
                FILE *log = fopen(getenv("SYNC_LOG"), "a");
                fprintf(log, "%s %s\\n", what, strrchr(path, '/'));
                fclose(log);
            }
            int fsync(int descriptor) {
                char link[64], path[4096] = {0};
                snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
                if (readlink(link, path, sizeof path - 1) > 0) note("sync", path);
                return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(descriptor);
            }
            int rename(const char *from, const char *to) {
                note("rename", to);
                return ((int (*)(const char *, const char *))dlsym(RTLD_NEXT, "rename"))(from, to);
            }
            int unlink(const char *path) {
                int result = ((int (*)(const char *))dlsym(RTLD_NEXT, "unlink"))(path);
                if (!result) note("remove", path);
                return result;
            }
            """)
        let environment = noting.merging(["SYNC_LOG": scratch.path("log")]) { $1 }
        for (command, expected) in [
            ("save", ["sync /session.new", "rename /session", "sync /app"]),
            ("remove", ["remove /session", "sync /app"]),
        ] {
            try scratch.write("", to: "log")
            let child = try Child("TokenSharer", [command, scratch.path("app/session")], environment: environment)
            #expect(try await child.end().status == 0)
            #expect(try scratch.read("log").split(separator: "\n").map(String.init) == expected)
        }
    }

    @Test(
        "C81: if the new file cannot replace the old one, the old one stays and nothing else is left",
        .enabled(if: Program.clang.isInstalled, "clang is not installed"))
    func notRenamed() async throws {
        let refusing = try await scratch.preloading(
            "#include <errno.h>\nint rename(const char *from, const char *to) { errno = EPERM; return -1; }\n")
        try await file.save(session)
        let child = try Child(
            "TokenSharer", ["save", scratch.path("app/session")],
            environment: refusing)
        #expect(try await child.end().status != 0)
        #expect(try await file.load() == session)
        #expect(!scratch.exists("app/session.new"))
    }
    #endif
}
