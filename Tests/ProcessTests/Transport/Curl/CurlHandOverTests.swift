#if os(Linux)
import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

/// What is passed to libcurl unchanged, and what is released when a call is over.
@Suite("What libcurl gets and releases", .timeLimit(.minutes(10))) struct CurlHandOverTests {
    private let server: LoopbackServer
    private let transport = CurlTransport()

    init() throws {
        server = try LoopbackServer()
    }

    private func send(_ method: HTTPMethod, _ path: String, body: HTTPBody? = nil) async throws -> HTTPResponse {
        let request = HTTPRequest(method: method, url: try HTTPURL(server.baseURL + path), body: body)
        return try await transport.send(request, context: TransportContext())
    }

    @Test("a path is sent as it is written", arguments: ["/a/../b", "/./a", "/a//b", "/a/%2e%2e/b", "/%c3%A9/%2F%2f"])
    func path(_ path: String) async throws {
        server.onAny { _ in .json("1") }
        _ = try await send(.get, path)
        #expect(server.received.map(\.path) == [path])
    }

    @Test(
        "a child process that is started meanwhile does not inherit the connections",
        .enabled(if: InstalledLibrary.announcesRequests, InstalledLibrary.announcesNothing))
    func closedInChildren() async throws {
        server.onAny { _ in .json("1") }
        _ = try await send(.get, "/x")
        let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { CInt($0) }
        let connections = descriptors.filter { Self.port(of: $0) == server.port }
        #expect(!connections.isEmpty)
        #expect(connections.allSatisfy { fcntl($0, F_GETFD) & FD_CLOEXEC != 0 })
    }

    /// Returns the port of the peer; `nil` for a descriptor that is no connection.
    private static func port(of descriptor: CInt) -> Int? {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &length) }
        }
        return result == 0 ? Int(UInt16(bigEndian: address.sin_port)) : nil
    }

    // Where libcurl is linked, the library counts what libcurl itself asks for, too.
    #if !URLSession && !LinkedCurl
    @Test(
        "C25: every handle is released, including those of calls that a shutdown has ended",
        .enabled(if: Program.clang.isInstalled, "clang is not installed"),
        arguments: InstalledLibrary.announcesRequests ? [0x074F00, 0x075801, 0x080600] : [0x074F00])
    func handles(version: Int) async throws {
        server.onAny { $0.path.hasPrefix("/silent") ? .silence : .json("1") }
        // Before 7.80 libcurl does not tell when it sends a request, and cannot break off a lookup.
        let lacking = version < 0x075000 ? [20312, 10313, 322] : []
        let library = try await StubLibrary(version: version, lacking: lacking, before: InstalledLibrary.path)
        // Calls to the first server end by a cancellation, by a timeout, and by the shutdown of their transport.
        let probe = try Child(
            "TransportProbe", ["lookup", "\(server.baseURL)/silent", "\(server.baseURL)/x"],
            environment: library.environment)
        let lines = try await probe.end().lines
        #expect(lines.last == "handles left: 0", "\(lines)")
    }
    #endif
}
#endif
