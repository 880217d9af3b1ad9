#if os(Linux) && !URLSession
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

/// A name server that does not respond.
@Suite(
    "Slow name servers", .enabled(if: Program.clang.isInstalled, "clang is not installed"), .timeLimit(.minutes(10)))
struct CurlLookupTests {
    @Test(
        "C94: a hanging lookup delays nothing: no cancellation, no timeout, no call to another host, no shutdown",
        arguments: Library.allCases)
    private func hanging(with library: Library) async throws {
        let server = try LoopbackServer()
        server.onAny { _ in .json("1") }
        let scratch = try Scratch()
        var (environment, gate) = try await hangingLookups(in: scratch)
        // Held until the process has ended: whatever waited for a lookup would never end.
        defer { close(gate) }
        let older = try await olderLibrary()
        if library == .older { environment.merge(older.environment) { $1 } }
        let probe = try Child(
            "TransportProbe", ["lookup", "http://slow.test", server.baseURL], environment: environment)
        let (lines, status) = try await probe.end()
        #expect(status == 0)
        // How long each of these took.
        let took = lines.filter { $0 != "lookup" }.prefix(2).flatMap { $0.split(separator: " ") }.compactMap { Int($0) }
        #expect(took.count == 4, "\(lines)")
    }

    private func olderLibrary() async throws -> StubLibrary {
        // CURLOPT_QUICK_EXIT exists since 7.87.
        let version = min(0x075100, InstalledLibrary.version)
        return try await StubLibrary(version: version, lacking: [322], before: InstalledLibrary.path)
    }

    /// What a process prints that looks a host up once. From 8.20 on, libcurl does so for each of the two kinds of
    /// addresses, on two threads.
    private static let lookups = Array(repeating: "lookup", count: InstalledLibrary.version < 0x081400 ? 1 : 2)

    private enum Library: CaseIterable { case installed, older }

    /// When a lookup ends: with the process, or after the call that began it.
    private enum End: String { case never, later }

    /// Returns what a process prints that makes so many calls to that host at once, and cancels the first.
    private func calls(
        _ count: Int, to host: String, timeout: Duration, lookupEnds end: End, with library: Library
    ) async throws -> [String] {
        let server = try LoopbackServer()
        server.onAny { _ in .json("1") }
        // Until the calls have ended.
        defer { server.close() }
        return try await calls(
            count, at: "http://\(host):\(server.port)", timeout: timeout, lookupEnds: end, with: library)
    }

    private func calls(
        _ count: Int, at url: String, trusting authorities: String? = nil, timeout: Duration, lookupEnds end: End,
        with library: Library
    ) async throws -> [String] {
        let scratch = try Scratch()
        var environment = try await scratch.preloading(Self.source)
        let gate = scratch.path("gate")
        #expect(mkfifo(gate, 0o600) == 0)
        environment["LOOKUP_GATE"] = gate
        let older = try await olderLibrary()
        if library == .older { environment.merge(older.environment) { $1 } }
        let probe = try Child(
            "TransportProbe",
            [
                "lookups", url, "\(count)", "\(Int(timeout / .milliseconds(1)))", gate, end.rawValue,
            ] + [authorities].compactMap(\.self), environment: environment)
        let (lines, status) = try await probe.end()
        #expect(status == 0)
        return lines.filter { line in
            !["handles", "transfers", "read sizes"].contains { line.hasPrefix($0) }
        }
    }

    @Test("two hundred calls to a silent name server take one lookup, and its thread", arguments: Library.allCases)
    private func silent(_ library: Library) async throws {
        let lines = try await calls(
            200, to: "slow.test", timeout: .milliseconds(500), lookupEnds: .never, with: library)
        let threads = 1 + Self.lookups.count
        #expect(lines == Self.lookups + ["1 cancelled", "199 timed out", "\(threads) threads"])
    }

    /// Returns the environment of a process whose lookups hang until the gate is closed.
    private func hangingLookups(in scratch: Scratch) async throws -> (environment: [String: String], gate: CInt) {
        var environment = try await scratch.preloading(Self.source)
        let gate = scratch.path("gate")
        #expect(mkfifo(gate, 0o600) == 0)
        environment["LOOKUP_GATE"] = gate
        // Open in both directions, so that neither side waits for the other.
        return (environment, open(gate, O_RDWR | O_CLOEXEC))
    }

    @Test("C43: calls to very many hosts whose name server is silent take few threads, and none of a shutdown's time")
    func manyNames() async throws {
        let server = try LoopbackServer()
        server.onAny { _ in .json("1") }
        let scratch = try Scratch()
        let (environment, gate) = try await hangingLookups(in: scratch)
        // Until the process has ended.
        defer { close(gate) }
        let probe = try Child("TransportProbe", ["names", "300", server.baseURL], environment: environment)
        let (lines, status) = try await probe.end()
        #expect(status == 0)
        CallsBeside.expect(lines)
        let words = lines.filter { $0 != "lookup" && !$0.hasPrefix("calls") }
        #expect(words.dropLast() == ["300 timed out"], "\(lines)")
        // Those of the transport, and those of the lookups.
        let threads = try #require(words.last.flatMap { Int($0.prefix { $0.isNumber }) })
        #expect(threads > 1 && threads <= 8 + 32 * Self.lookups.count, "\(lines)")
    }

    @Test("an address reaches all who wait, though who began the lookup has left", arguments: Library.allCases)
    private func found(_ library: Library) async throws {
        let lines = try await calls(50, to: "late.test", timeout: .seconds(60), lookupEnds: .later, with: library)
        #expect(lines.filter { !$0.hasSuffix("threads") } == Self.lookups + ["1 cancelled", "49 succeeded"])
    }

    @Test(
        "C44: calls that share a connection share it, though who began the lookup of its host has left",
        .enabled(if: Program.openssl.isInstalled && Program.nginx.isInstalled, "openssl or nginx is not installed"),
        .enabled(if: InstalledLibrary.speaksHTTP2, InstalledLibrary.speaksNoHTTP2), arguments: Library.allCases)
    private func shared(_ library: Library) async throws {
        let authority = try await TestAuthority()
        let server = try await HTTP2Server(authority.issue(to: "late.test"))
        server.backend.onAny { _ in .json("1") }
        let lines = try await calls(
            50, at: server.url.replacing("localhost", with: "late.test"), trusting: authority.file,
            timeout: .seconds(60), lookupEnds: .later, with: library)
        #expect(lines.filter { !$0.hasSuffix("threads") } == Self.lookups + ["1 cancelled", "49 succeeded"])
        #expect(server.connections.count == 1)
    }

    @Test("a failed lookup fails for all who wait, with the same words", arguments: Library.allCases)
    private func failed(_ library: Library) async throws {
        let lines = try await calls(50, to: "broken.test", timeout: .seconds(60), lookupEnds: .later, with: library)
        let ends = lines.filter { !$0.hasSuffix("threads") }
        #expect(Array(ends.dropLast()) == Self.lookups + ["1 cancelled"], "\(ends)")
        #expect(ends.last?.hasPrefix("49 dns ") == true, "\(ends)")
    }

    /// A replacement that looks names up as the system does, except for three, for which it waits until the other side
    /// closes the gate. Then one is this machine, and the others have no address. It tells of each of these lookups.
    private static let source = """
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <fcntl.h>
        #include <netdb.h>
        #include <stdlib.h>
        #include <string.h>
        #include <unistd.h>
        static void wait_at_gate(void) {
            char byte;
            int descriptor = open(getenv("LOOKUP_GATE"), O_RDONLY);
            while (read(descriptor, &byte, 1) > 0) {}
            close(descriptor);
        }
        int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
            static int (*system)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
            if (node && strstr(node, ".test")) {
                write(1, "lookup\\n", 7);
                wait_at_gate();
            }
            if (node && strstr(node, "slow.test")) return EAI_AGAIN;
            if (node && strcmp(node, "broken.test") == 0) return EAI_NONAME;
            if (node && strcmp(node, "late.test") == 0) node = "127.0.0.1";
            if (!system) system = dlsym(RTLD_NEXT, "getaddrinfo");
            return system(node, service, hints, found);
        }
        """
}
#endif
