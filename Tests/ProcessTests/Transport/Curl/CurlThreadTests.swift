#if os(Linux)
import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("The thread of libcurl", .timeLimit(.minutes(10))) struct CurlThreadTests {
    @Test("it blocks all signals but those of faults and profilers; threads that are started from it inherit that")
    func signals() async throws {
        let server = try LoopbackServer()
        server.onAny { _ in .json("1") }
        let client = APIClient(server.baseURL) {
            $0.transport = CurlTransport()
            $0.rateLimit = .unlimited
        }
        #expect(try await client.run(Endpoint<Int>.get("x")) == 1)
        let folder = "/proc/self/task"
        var masks: [UInt64] = []
        for thread in try FileManager.default.contentsOfDirectory(atPath: folder) {
            // One that has ended since has no status.
            guard let status = FileManager.default.contents(atPath: "\(folder)/\(thread)/status") else { continue }
            let lines = String(decoding: status, as: UTF8.self).split(separator: "\n")
            guard lines.contains("Name:\terrand.curl") else { continue }
            let mask = try #require(lines.first { $0.hasPrefix("SigBlk:\t") })
            masks.append(try #require(UInt64(mask.dropFirst(8), radix: 16)))
        }
        #expect(!masks.isEmpty)
        for mask in masks {
            func isBlocked(_ signal: CInt) -> Bool { mask & 1 << UInt64(signal - 1) != 0 }
            for signal in [SIGTERM, SIGINT, SIGUSR1, SIGCHLD] { #expect(isBlocked(signal)) }
            for signal in [SIGSEGV, SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGPROF] { #expect(!isBlocked(signal)) }
            #expect(isBlocked(SIGPIPE) == InstalledLibrary.raisesPipeSignal)
        }
        await client.shutdown()
    }

    #if !URLSession && !LinkedCurl
    /// A connection that is used again breaks on the thread of a caller, too.
    @Test(
        "a connection over TLS that breaks while something is written to it does not end the process",
        .enabled(if: Program.clang.isInstalled, "clang is not installed"),
        .enabled(if: Program.openssl.isInstalled && Program.python3.isInstalled, "openssl or python3 is not installed"),
        arguments: InstalledLibrary.keepsTLS ? [true, false] : [true])
    func brokenWrites(isLibcurls: Bool) async throws {
        let server = try LoopbackServer()
        server.onAny { _ in .json("1") }
        let authority = try await TestAuthority()
        let front = try await PythonServer.front(of: server, authority.issue())
        // The program's side of a connection closes before the next bytes are written: the system then sends SIGPIPE,
        // unless it is told not to.
        let lines = try await Child.series(
            (0..<40).map { "\(front.url)/\($0)" }, trusting: authority,
            """
            #define _GNU_SOURCE
            #include <dlfcn.h>
            #include <stdio.h>
            #include <string.h>
            #include <sys/prctl.h>
            #include <sys/socket.h>
            #include <netinet/in.h>
            static void break_connection(int socket) {
                struct sockaddr_in peer;
                socklen_t length = sizeof peer;
                char name[16] = "";
                static _Atomic int writes;
                prctl(PR_GET_NAME, name);
                if ((strcmp(name, "errand.curl") == 0) != \(isLibcurls ? 1 : 0)) return;
                if (getpeername(socket, (struct sockaddr *)&peer, &length) != 0) return;
                if (peer.sin_family != AF_INET && peer.sin_family != AF_INET6 || writes++ % 5 != 4) return;
                puts("broken");
                shutdown(socket, SHUT_WR);
            }
            ssize_t write(int file, const void *bytes, size_t count) {
                break_connection(file);
                return ((ssize_t (*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write"))(file, bytes, count);
            }
            ssize_t send(int socket, const void *bytes, size_t count, int flags) {
                break_connection(socket);
                return ((ssize_t (*)(int, const void *, size_t, int))dlsym(RTLD_NEXT, "send"))(
                    socket, bytes, count, flags);
            }
            """)
        #expect(lines.count { $0 != "broken" } == 40)
        #expect(lines.contains("200"))
        #expect(lines.contains("broken"))
    }
    #endif
}
#endif
