#if os(Linux)
import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("Downloads of other processes", .timeLimit(.minutes(10))) struct DownloadProcessTests {
    private let server: LoopbackServer
    private let scratch: Scratch
    private let file = LoopbackFile(DownloadScene.content(24 << 20))

    init() throws {
        server = try LoopbackServer()
        scratch = try Scratch()
    }

    private var target: String { scratch.path("file") }
    private var part: Data? { FileManager.default.contents(atPath: target + ".part") }

    /// Serves the file. While `held` has a number, a response stops after that many bytes, until its client has gone.
    private func serve(holding held: Noted<Int?> = Noted(nil)) {
        server.on(.get, "/file") { [file] request in
            let reply = file.reply(to: request)
            return held.value.map { reply.cut(.inBody($0), by: .silence) } ?? reply
        }
    }

    @Test("D4: killed at any instant, the next download goes on; the file appears whole or not at all")
    func killed() async throws {
        let held = Noted<Int?>(nil)
        serve(holding: held)
        var expected: String?
        for round in 0..<(LongRun.isWanted ? 200 : 15) {
            // In every third round the process may come to its end before it is killed.
            held.value = round % 3 == 2 ? nil : Int.random(in: 1...6_000_000)
            let before = server.received.count
            let child = try Child("TransportProbe", ["download", server.baseURL, target])
            try await child.firstWord()
            // Another process is killed at a moment of real time, so that any point may be hit.
            try await Task.sleep(for: .microseconds(Int.random(in: 0...30_000)))
            child.kill()
            _ = try await child.end()
            // The first request of this child; it has spoken, so one has arrived.
            let request = try #require(server.received.dropFirst(before).first)
            #expect(request.headers["Range"] == expected)
            if let whole = FileManager.default.contents(atPath: target) {
                #expect(whole == file.content)
                try FileManager.default.removeItem(atPath: target)
            }
            // Whatever is there is the beginning of the file, and the next process goes on after it.
            let part = part ?? Data()
            #expect(part == file.content.prefix(part.count))
            expected = part.isEmpty ? nil : "bytes=\(part.count)-"
        }
        held.value = nil
        let (lines, status) = try await Child("TransportProbe", ["download", server.baseURL, target]).end()
        #expect(status == 0, "\(lines)")
        #expect(server.received.last?.headers["Range"] == expected)
        #expect(FileManager.default.contents(atPath: target) == file.content)
        #expect(!scratch.exists("file.part") && !scratch.exists("file.part.json"))
    }

    @Test("D5: a download of another process has the place; when that is killed, the next one goes on")
    func twoProcesses() async throws {
        let held = Noted<Int?>(2_000_000)
        serve(holding: held)
        let child = try Child("TransportProbe", ["download", server.baseURL, target])
        try await child.firstWord()
        let client = APIClient(server.baseURL) { $0.rateLimit = .unlimited }
        let error = await #expect(throws: ServiceError.self) { try await client.download(.get("file"), to: target) }
        guard case .invalidRequest(let invalid) = error else { throw try #require(error) }
        #expect(invalid.reason.hasPrefix("another download writes to \(target)"))
        child.kill()
        _ = try await child.end()
        held.value = nil
        try await client.download(.get("file"), to: target)
        #expect(FileManager.default.contents(atPath: target) == file.content)
    }

    /// Compiles a library that replaces a function of the system in a child process.
    private func replacing(_ function: String) async throws -> [String: String] {
        return try await scratch.preloading(
            """
            #define _GNU_SOURCE
            #include <dlfcn.h>
            #include <errno.h>
            #include <stdio.h>
            #include <string.h>
            #include <unistd.h>
            \(function)
            """)
    }

    @Test(
        "D5: where the file system has no locks, a download notices that another process has written to its part",
        .enabled(if: Program.clang.isInstalled, "clang is not installed"))
    func withoutLocks() async throws {
        let environment = try await replacing("int flock(int file, int how) { errno = ENOLCK; return -1; }")
        let (arrived, goOn) = (AsyncStream.makeStream(of: Void.self), DispatchSemaphore(value: 0))
        let isFirst = Noted(true)
        server.on(.get, "/file") { [file] request in
            guard isFirst.value else { return file.reply(to: request) }
            isFirst.value = false
            arrived.continuation.yield()
            goOn.wait()
            return file.reply(to: request)
        }
        let client = APIClient(server.baseURL) { $0.rateLimit = .unlimited }
        let mine = Task { [target] in try await client.download(.get("file"), to: target) }
        for await _ in arrived.stream { break }
        let (lines, status) = try await Child(
            "TransportProbe", ["download", server.baseURL, target], environment: environment
        ).end()
        #expect(status == 0 && lines.last == "after 0", "\(lines)")
        #expect(FileManager.default.contents(atPath: target) == file.content)
        goOn.signal()
        // It has written to a file that is no longer at its path.
        let error = await #expect(throws: ServiceError.self) { try await mine.value }
        guard case .transport(let failure) = error else { throw try #require(error) }
        #expect(failure.kind == .file && failure.message.contains("changed"))
        #expect(FileManager.default.contents(atPath: target) == file.content)
    }

    @Test(
        "D7: bytes that could not be brought to the disk are not kept: the system says only once that they are lost",
        .enabled(if: Program.clang.isInstalled, "clang is not installed"))
    func lostBytes() async throws {
        let environment = try await replacing(
            """
            int fsync(int file) {
                char link[64], path[4096] = {0};
                snprintf(link, sizeof link, "/proc/self/fd/%d", file);
                if (readlink(link, path, sizeof path - 1) > 5 && !strcmp(path + strlen(path) - 5, ".part")) {
                    errno = EIO;
                    return -1;
                }
                return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(file);
            }
            """)
        serve()
        let child = try Child("TransportProbe", ["download", server.baseURL, target], environment: environment)
        let (lines, _) = try await child.end()
        #expect(lines.last?.contains("\(target).part cannot be written: Input/output error") == true, "\(lines)")
        #expect(part == nil && !scratch.exists("file.part.json") && !scratch.exists("file"))
    }

    @Test(
        "D4: the file is synced before it is renamed, and its folder afterwards",
        .enabled(if: Program.clang.isInstalled, "clang is not installed"))
    func synced() async throws {
        var environment = try await replacing(
            """
            #include <stdlib.h>
            static void note(const char *what, const char *path) {
                FILE *log = fopen(getenv("SYNC_LOG"), "a");
                fprintf(log, "%s %s\\n", what, strrchr(path, '/') + 1);
                fclose(log);
            }
            int fsync(int file) {
                char link[64], path[4096] = {0};
                snprintf(link, sizeof link, "/proc/self/fd/%d", file);
                if (readlink(link, path, sizeof path - 1) > 0) note("sync", path);
                return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(file);
            }
            int unlink(const char *path) {
                note("unlink", path);
                return ((int (*)(const char *))dlsym(RTLD_NEXT, "unlink"))(path);
            }
            int rename(const char *from, const char *to) {
                note("rename", to);
                return ((int (*)(const char *, const char *))dlsym(RTLD_NEXT, "rename"))(from, to);
            }
            """)
        environment["SYNC_LOG"] = scratch.path("log")
        serve()
        let child = try Child("TransportProbe", ["download", server.baseURL, target], environment: environment)
        #expect(try await child.end().status == 0)
        let log = try scratch.read("log").split(separator: "\n").map(String.init)
        let folder = String(try #require(scratch.folder.split(separator: "/").last))
        let place = try #require(log.firstIndex(of: "rename file"))
        #expect(log[..<place].last == "sync file.part")
        // Whatever is removed beside it comes later, and is synced once more.
        #expect(log[(place + 1)...].first == "sync \(folder)", "\(log)")
    }

    @Test("D7: on a full disk the error says so, and what has come is kept for the next download")
    func fullDisk() async throws {
        serve()
        let limit = 5_000_000
        let child = try Child("TransportProbe", ["download", server.baseURL, target, "\(limit)"])
        let (lines, status) = try await child.end()
        #expect(status == 0)
        let line = try #require(lines.last)
        #expect(
            line == "GET file: transport(file: A file on this device cannot be used: \(target).part cannot be "
                + "written: File too large) [\(server.baseURL)]")
        #expect(part == file.content.prefix(limit))
        let client = APIClient(server.baseURL) { $0.rateLimit = .unlimited }
        let result = try await client.download(.get("file"), to: target)
        #expect(result.resumedAfter == limit)
        #expect(FileManager.default.contents(atPath: target) == file.content)
    }

    @Test(
        "D7: a file system that is full", .enabled(if: TemporaryFileSystem.isAllowed, "no file system can be mounted"))
    func fullFileSystem() async throws {
        serve()
        let disk = try TemporaryFileSystem(bytes: 4 << 20)
        let client = APIClient(server.baseURL) { $0.rateLimit = .unlimited }
        let error = await #expect(throws: ServiceError.self) {
            try await client.download(.get("file"), to: disk.path("file"))
        }
        guard case .transport(let failure) = error else { throw try #require(error) }
        #expect(failure.kind == .file && failure.message.hasSuffix("cannot be written: No space left on device"))
        let kept = try #require(FileManager.default.contents(atPath: disk.path("file.part")))
        #expect(kept.count > 3 << 20 && kept == file.content.prefix(kept.count))
        #expect(!FileManager.default.fileExists(atPath: disk.path("file")))
    }
}
#endif
