#if os(Linux)
import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

/// A system that does not watch the transport's sockets.
@Suite(
    "Sockets that cannot be watched", .enabled(if: Program.clang.isInstalled, "clang is not installed"),
    .timeLimit(.minutes(10)))
struct CurlWatchTests {
    private let scratch: Scratch
    private let server: LoopbackServer

    init() throws {
        scratch = try Scratch()
        server = try LoopbackServer()
        server.on(.get, "/x") { _ in .json("1") }
        server.on(.get, "/silent") { _ in .silence }
    }

    /// What the loop wants to know of a connection when the system refuses.
    enum Wish: String, CaseIterable {
        case isConnected = "EPOLLOUT"
        case hasResponse = "EPOLLIN"
    }

    /// Compiles a library with which the system refuses the first `count` wishes of that kind.
    private func refusing(_ wish: Wish, _ error: String, count: Int) async throws -> [String: String] {
        return try await scratch.preloading(
            """
            #define _GNU_SOURCE
            #include <dlfcn.h>
            #include <errno.h>
            #include <sys/epoll.h>
            #include <sys/socket.h>
            int epoll_ctl(int epoll, int change, int file, struct epoll_event *event) {
                static _Atomic int left = \(count);
                struct sockaddr address;
                socklen_t length = sizeof address;
                if (change != EPOLL_CTL_DEL && event->events & \(wish.rawValue) &&
                    getsockname(file, &address, &length) == 0 && address.sa_family == AF_INET && left-- > 0) {
                    errno = \(error);
                    return -1;
                }
                return ((int (*)(int, int, int, struct epoll_event *))dlsym(RTLD_NEXT, "epoll_ctl"))(
                    epoll, change, file, event);
            }
            """)
    }

    private func get(_ path: String, _ environment: [String: String]) async throws -> String {
        let probe = try Child("TransportProbe", ["get", server.baseURL + path], environment: environment)
        let (lines, status) = try await probe.end()
        #expect(status == 0)
        return lines.joined(separator: "\n")
    }

    @Test("a refusal for want of memory passes, and the call succeeds", arguments: Wish.allCases, ["ENOMEM", "ENOSPC"])
    func passing(wish: Wish, error: String) async throws {
        let said = try await get("/x", refusing(wish, error, count: 3))
        #expect(said == "200 1")
    }

    @Test("another refusal does not pass: the call fails instead of waiting", arguments: Wish.allCases)
    func lasting(wish: Wish) async throws {
        // A response that has come before the connection is ended would be a response.
        let said = try await get(wish == .isConnected ? "/x" : "/silent", refusing(wish, "EPERM", count: 1 << 30))
        // Before libcurl 8.1 this machine is connected before anything has to be watched.
        let expected = wish == .isConnected ? ["refused false ", "reset false ", "200 1"] : ["reset true "]
        #expect(expected.contains { said.hasPrefix($0) }, "\(said)")
    }
}
#endif
