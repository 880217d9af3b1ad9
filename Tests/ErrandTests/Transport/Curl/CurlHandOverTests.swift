#if os(Linux)
import Errand
import ErrandTesting
import Foundation
import Testing

/// What goes to libcurl as it is, and what comes back from it when a call is over.
@Suite("What libcurl is given and gives back", .timeLimit(.minutes(2))) struct CurlHandOverTests {
    private let server: LoopbackServer
    private let transport = CurlTransport()

    init() throws {
        server = try LoopbackServer()
    }

    private func send(_ method: HTTPMethod, _ path: String, body: HTTPBody? = nil) async throws -> HTTPResponse {
        let request = HTTPRequest(method: method, url: try HTTPURL(server.baseURL + path), body: body)
        return try await transport.send(request, context: TransportContext())
    }

    @Test("a path goes out as it is written", arguments: ["/a/../b", "/./a", "/a//b", "/a/%2e%2e/b"])
    func path(_ path: String) async throws {
        server.onAny { _ in .json("1") }
        _ = try await send(.get, path)
        #expect(server.received.map(\.path) == [path])
    }

    @Test("a program that is started meanwhile does not get the connections")
    func closedInChildren() async throws {
        server.onAny { _ in .json("1") }
        _ = try await send(.get, "/x")
        let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { CInt($0) }
        let connections = descriptors.filter { Self.port(of: $0) == server.port }
        #expect(!connections.isEmpty)
        #expect(connections.allSatisfy { fcntl($0, F_GETFD) & FD_CLOEXEC != 0 })
    }

    /// The port at the other end; `nil` for what is no connection.
    private static func port(of descriptor: CInt) -> Int? {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &length) }
        }
        return result == 0 ? Int(UInt16(bigEndian: address.sin_port)) : nil
    }

    #if !URLSession
    @Test(
        "C25: every handle goes back, those too of calls that a shutdown has ended",
        .enabled(if: Program.clang.isInstalled, "clang is not installed"),
        arguments: [0x075801, 0x080600])
    func handles(version: Int) async throws {
        server.onAny { $0.path.hasPrefix("/silent") ? .silence : .json("1") }
        let library = try StubLibrary(version: version, lacking: [], before: InstalledLibrary.path)
        // Calls to the first end by a cancel, by a timeout, and by the shutdown of their transport.
        let probe = try Child(
            "TransportProbe", ["lookup", "\(server.baseURL)/silent", "\(server.baseURL)/x"],
            environment: library.environment)
        #expect(try await probe.end().lines.last == "handles left: 0")
    }
    #endif
}
#endif
