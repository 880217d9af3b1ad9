#if os(Linux)
import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

/// Bodies of all sizes, and what is reserved for them.
@Suite("Large bodies", .timeLimit(.minutes(10))) struct CurlBodyTests {
    private let server: LoopbackServer
    private let transport: CurlTransport

    init() throws {
        server = try LoopbackServer()
        // Under a sanitizer, a large body holds a thread up, and the next request goes to another.
        var options = CurlTransport.Options()
        options.loops = 1
        transport = CurlTransport(options)
    }

    private static func bytes(_ count: Int) -> Data {
        // No power of two, so that no piece is like the one before.
        let block = Data((0..<65_521).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) })
        var bytes = Data()
        while bytes.count < count { bytes += block.prefix(count - bytes.count) }
        return bytes
    }

    private func body(limit: Int = 64 << 20) async throws -> Data? {
        let request = HTTPRequest(method: .get, url: try HTTPURL("\(server.baseURL)/x"))
        return try await transport.send(request, context: TransportContext(bodyLimit: limit)).body.bytes
    }

    @Test(
        "a body arrives whole, whether or not its length is announced",
        arguments: [1, 16 << 10, 100 << 10, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 5 << 20], [true, false])
    func whole(size: Int, isAnnounced: Bool) async throws {
        let sent = Self.bytes(size)
        server.onAny { _ in isAnnounced ? .status(200, body: sent) : .chunks([sent.prefix(7), sent.dropFirst(7)]) }
        for _ in 0..<2 { #expect(try await body() == sent) }
        #expect(server.connections == 1 || !InstalledLibrary.announcesRequests)
    }

    @Test("a body of exactly the limit is within it, one byte more is not", arguments: [1 << 10, 3 << 20])
    func limit(size: Int) async throws {
        let sent = Self.bytes(size)
        server.onAny { _ in .status(200, body: sent) }
        #expect(try await body(limit: size)?.count == size)
        let error = await #expect(throws: ServiceError.self) { try await body(limit: size - 1) }
        guard case .transport(let failure) = error else { throw try #require(error) }
        #expect(failure.kind == .tooLarge)
    }
}
#endif
