#if os(Linux) && !URLSession
import ErrandTesting
import Foundation
import Testing

/// A name server that does not respond.
@Suite(
    "Slow name servers", .enabled(if: Program.clang.isInstalled, "clang is not installed"), .timeLimit(.minutes(2)))
struct CurlLookupTests {
    /// Returns how long it took to cancel a call whose lookup hangs and to end one at its timeout, the duration of the
    /// slowest concurrent call to another host, and that of the shutdown; in milliseconds.
    private func took(_ environment: [String: String] = [:]) async throws -> [Int] {
        let server = try LoopbackServer()
        server.onAny { _ in .json("1") }
        let library = try Scratch()
        try library.write(Self.source, to: "lookup.c")
        try Program.clang.run(["-shared", "-fPIC", "-o", library.path("lookup.so"), library.path("lookup.c"), "-ldl"])
        let probe = try Child(
            "TransportProbe", ["lookup", "http://slow.test", server.baseURL],
            environment: ["LD_PRELOAD": library.path("lookup.so")].merging(environment) { $1 })
        let (lines, status) = try await probe.end()
        #expect(status == 0)
        let took = lines.prefix(2).flatMap { $0.split(separator: " ") }.compactMap { Int($0) }
        try #require(took.count == 4, "\(lines)")
        return took
    }

    @Test("a hanging lookup delays nothing: no cancellation, no timeout, no call to another host, no shutdown")
    func hanging() async throws {
        let took = try await took()
        // The lookup takes 8 seconds.
        #expect(took.allSatisfy { $0 < 3000 }, "\(took)")
    }

    @Test("the same with a libcurl that cannot interrupt a lookup")
    func hangingWithOlderLibrary() async throws {
        // CURLOPT_QUICK_EXIT exists since 7.87.
        let older = try StubLibrary(version: 0x075100, lacking: [322], before: InstalledLibrary.path)
        let took = try await took(older.environment)
        #expect(took.allSatisfy { $0 < 3000 }, "\(took)")
    }

    /// A replacement that looks names up as the system does, except for one.
    private static let source = """
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <netdb.h>
        #include <string.h>
        #include <unistd.h>
        int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
            static int (*system)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
            if (node && strcmp(node, "slow.test") == 0) {
                sleep(8);
                return EAI_AGAIN;
            }
            if (!system) system = dlsym(RTLD_NEXT, "getaddrinfo");
            return system(node, service, hints, found);
        }
        """
}
#endif
