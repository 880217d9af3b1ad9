#if os(Linux)
import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

/// libcurl's handles are reused, and the options of one request must not affect the next.
@Suite("A reused handle", .timeLimit(.minutes(10))) struct CurlHandleTests {
    private let server: LoopbackServer
    private let transport = CurlTransport()

    init() throws {
        server = try LoopbackServer()
        server.onAny { request in
            request.path == "/fail" ? .close : .status(200, body: Data((request.method == .head ? "" : "body").utf8))
        }
    }

    private func send(
        _ method: HTTPMethod, _ path: String, _ headers: HTTPHeaders = [:], _ body: HTTPBody? = nil,
        delivery: TransportContext.Delivery = .whole
    ) async throws -> Data {
        let url = try HTTPURL(server.baseURL + path)
        let request = HTTPRequest(method: method, url: url, headers: headers, body: body)
        let response = try await transport.send(request, context: TransportContext(delivery: delivery))
        return try await response.body.collect(upTo: 100)
    }

    /// Requests that may come before a plain GET.
    private enum Former: String, CaseIterable { case post, stream, head, delete, expect, streamed, failed }

    @Test("a GET is sent as if it were the first, whatever came before it", arguments: Former.allCases)
    private func plain(after former: Former) async throws {
        _ = try await send(.get, "/x")
        switch former {
        case .post: _ = try await send(.post, "/x", ["Content-Type": "text/plain"], .bytes(Data("sent".utf8)))
        case .stream: _ = try await send(.put, "/x", [:], .stream(HTTPBody.bytes(Data("sent".utf8)).chunks))
        case .head: _ = try await send(.head, "/x")
        case .delete: _ = try await send(.delete, "/x")
        case .expect: _ = try await send(.post, "/x", ["Expect": ""], .bytes(Data("sent".utf8)))
        case .streamed: _ = try await send(.get, "/x", delivery: .stream)
        case .failed: await #expect(throws: ServiceError.self) { _ = try await send(.post, "/fail") }
        }
        #expect(try await send(.get, "/x") == Data("body".utf8))
        let (first, last) = (try #require(server.received.first), try #require(server.received.last))
        #expect(last.method == .get && last.body.isEmpty)
        #expect(last.headers == first.headers)
    }

    #if !URLSession
    /// Some versions of libcurl have a bug: a handle that had a response cannot be used again.
    @Test(
        "C94: the same with every libcurl whose handles can be reused",
        .enabled(if: Program.clang.isInstalled, "clang is not installed"),
        .enabled(if: InstalledLibrary.announcesRequests, InstalledLibrary.announcesNothing),
        arguments: ["POST", "HEAD", "DELETE"])
    func otherVersion(method: String) async throws {
        let library = try await StubLibrary(version: 0x080600, lacking: [], before: InstalledLibrary.path)
        let url = "\(server.baseURL)/x"
        let probe = try Child(
            "TransportProbe", ["series", url, method + url, url], environment: library.environment)
        #expect(try await probe.end().lines.prefix(3) == ["200", "200", "200"])
        #expect(server.received.map(\.method.rawValue) == ["GET", method, "GET"])
        #expect(server.received.map(\.body.count) == [0, method == "POST" ? 4 : 0, 0])
        #expect(server.received.first?.headers == server.received.last?.headers)
    }

    @Test(
        "where each request needs a new handle, the transport's thread frees the old ones",
        .enabled(if: Program.clang.isInstalled, "clang is not installed"))
    func newHandles() async throws {
        let library = try await StubLibrary(version: 0x075801, lacking: [], before: InstalledLibrary.path)
        let urls = [String](repeating: "\(server.baseURL)/x", count: 5)
        let calls = try Child("TransportProbe", ["series"] + urls, environment: library.environment)
        let lines = try await calls.end().lines
        // How many it frees in time depends on which thread is first. At the end it would free all that are left.
        #expect((1...4).contains { lines.contains("handles freed before: \($0)") }, "\(lines)")
        #expect(lines.contains("handles left: 0"), "\(lines)")
    }

    @Test(
        "a call reads little at once, until a response of its server was larger; a stream reads much from the start",
        .enabled(if: Program.clang.isInstalled, "clang is not installed"))
    func readSizes() async throws {
        let library = try await StubLibrary(version: 0x075801, lacking: [], before: InstalledLibrary.path)
        server.on(.get, "/large", LoopbackReply.status(200, body: Data(count: 20_000)).always)
        let urls = ["/x", "/x", "/large", "/large", "/x"].map { server.baseURL + $0 }
        let calls = try Child("TransportProbe", ["series"] + urls, environment: library.environment)
        let lines = try await calls.end().lines
        #expect(lines.contains("read sizes: 16384 16384 16384 102400 102400"), "\(lines)")

        server.on(.get, "/file", LoopbackReply.status(200, body: Data(count: 100)).always)
        let scratch = try Scratch()
        let download = try Child(
            "TransportProbe", ["download", server.baseURL, scratch.path("file")], environment: library.environment)
        let said = try await download.end().lines
        #expect(said.contains("read sizes: 102400"), "\(said)")
    }
    #endif
}
#endif
