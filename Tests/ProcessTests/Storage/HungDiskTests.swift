#if os(Linux)
import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("A disk that hangs", .enabled(if: Program.clang.isInstalled, "clang is not installed"))
struct HungDiskTests {
    private let scratch: Scratch
    private let server: LoopbackServer

    init() throws {
        scratch = try Scratch()
        server = try LoopbackServer()
        server.on(.put, "/x", .status(204))
        server.on(.get, "/file", .status(200, body: Data("content".utf8)))
        server.on(.get, "/number", .json("7"))
        server.on(.get, "/cached") { _ in .json("7") }
        for folder in ["hung", "healthy"] {
            #expect(mkdir(scratch.path(folder), 0o700) == 0)
            try scratch.write("body", to: "\(folder)/body")
        }
    }

    /// Compiles a library with which the folder is a disk of its own, and every look at a path that begins with its
    /// path takes ten seconds.
    private func hanging(_ folder: String) async throws -> [String: String] {
        let mounts = try String(contentsOfFile: "/proc/self/mountinfo", encoding: .utf8)
        try scratch.write("\(mounts)1 1 0:9999 / \(folder) rw - hung hung rw\n", to: "mounts")
        return try await scratch.preloading(
            """
            #define _GNU_SOURCE
            #include <dlfcn.h>
            #include <fcntl.h>
            #include <stdarg.h>
            #include <string.h>
            #include <sys/stat.h>
            #include <unistd.h>
            static void hang(const char *path) {
                if (!strncmp(path, "\(folder)", \(folder.utf8.count))) sleep(10);
            }
            #define REAL(name, ...) ((int (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name))
            #define OPEN(name) \\
                int name(const char *path, int flags, ...) { \\
                    va_list more; \\
                    va_start(more, flags); \\
                    mode_t mode = va_arg(more, mode_t); \\
                    va_end(more); \\
                    hang(path); \\
                    if (!strcmp(path, "/proc/self/mountinfo")) path = "\(scratch.path("mounts"))"; \\
                    return REAL(#name, const char *, int, mode_t)(path, flags, mode); \\
                }
            OPEN(open)
            OPEN(open64)
            int stat(const char *path, struct stat *status) {
                hang(path);
                return REAL("stat", const char *, struct stat *)(path, status);
            }
            int lstat(const char *path, struct stat *status) {
                hang(path);
                return REAL("lstat", const char *, struct stat *)(path, status);
            }
            """)
    }

    @Test(
        "C92: everything else runs on, calls end at their deadline, files on other disks are served, shutdown returns",
        .timeLimit(.minutes(10)))
    func restRunsOn() async throws {
        let (hung, healthy) = (scratch.path("hung"), scratch.path("healthy"))
        let child = try await Child(
            "TransportProbe", ["hung", server.baseURL, hung, healthy], environment: hanging(hung))
        let (lines, status) = try await child.end()
        #expect(status == 0)
        #expect(!lines.contains { $0.hasPrefix("a cached call") }, "\(lines)")
        let milliseconds = Dictionary(
            uniqueKeysWithValues: lines.compactMap { line -> (String, Int)? in
                let words = line.split(separator: " ").map(String.init)
                return words.count == 2 ? Int(words[1]).map { (words[0], $0) } : nil
            })
        #expect(
            milliseconds.keys.sorted()
                == ["archives", "beside", "caches", "downloads", "pause", "sessions", "shutdown", "uploads"])
        // Far from the ten seconds of the disk, and from what a busy machine takes.
        for (what, taken) in milliseconds { #expect(taken < 5000, "\(what): \(lines)") }
        // Their deadline is half a second.
        for what in ["uploads", "downloads", "sessions"] {
            #expect(milliseconds[what] ?? 0 >= 500, "\(what): \(lines)")
        }
    }

    @Test(
        "C92: however many folders of it are used, and by links, too, files on other disks are served",
        .timeLimit(.minutes(10)), arguments: [false, true])
    func manyFolders(byLinks: Bool) async throws {
        let (hung, healthy) = (scratch.path("hung"), scratch.path("healthy"))
        for number in 0..<80 {
            #expect(mkdir("\(hung)/\(number)", 0o700) == 0)
            let link = "\(hung)-\(number)"
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "\(hung)/\(number)")
        }
        let pattern = byLinks ? "\(hung)-" : "\(hung)/"
        let arguments = ["folders", pattern, "80", healthy, "\(server.baseURL)/number"]
        let child = try await Child("TransportProbe", arguments, environment: hanging(hung))
        let (lines, status) = try await child.end()
        #expect(status == 0 && lines.count == 2)
        CallsBeside.expect(lines)
        let took = try #require(lines.last.flatMap { Int($0) }, "\(lines)")
        #expect(took < 5000, "of the ten seconds of the disk")
    }
}
#endif
