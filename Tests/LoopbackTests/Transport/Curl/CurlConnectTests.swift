#if os(Linux)
import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("The time that a connection may take", .timeLimit(.minutes(10))) struct CurlConnectTests {
    private func failure(_ url: String, _ limit: Duration) async throws -> ServiceError {
        var options = CurlTransport.Options()
        options.connectTimeout = limit
        let transport = CurlTransport(options)
        let client = APIClient(url) {
            $0.transport = transport
            $0.retry = .never
            $0.timeout = nil
        }
        let error = await #expect(throws: ServiceError.self) { try await client.run(Endpoint<Int>.get("x")) }
        await client.shutdown()
        await transport.shutdown()
        return try #require(error)
    }

    @Test("a handshake that does not end within the limit is a server that cannot be reached, and nothing was sent")
    func handshake() async throws {
        let server = try LoopbackServer()
        // It accepts the connection, and never says a word of TLS.
        server.onConnection { _ in LoopbackReply([.silence]) }
        let error = try await failure("https://127.0.0.1:\(server.port)", .milliseconds(100))
        guard case .transport(let failure) = error else { throw error }
        #expect(failure.kind == .unreachable && !failure.mayHaveReachedServer && error.isTransient)
        #expect(failure.message == "no connection in time")
        server.close()
    }

    @Test("a connection that is there is not limited by it")
    func response() async throws {
        let server = try LoopbackServer()
        server.on(.get, "/x", LoopbackReply.json("7").after(.milliseconds(600)))
        var options = CurlTransport.Options()
        options.connectTimeout = .milliseconds(300)
        let transport = CurlTransport(options)
        let client = APIClient(server.baseURL) { $0.transport = transport }
        #expect(try await client.run(Endpoint<Int>.get("x")) == 7)
        await transport.shutdown()
    }

    @Test("a limit that makes no sense is refused", arguments: [0, -1])
    func senseless(seconds: Int) async throws {
        let error = try await failure("http://127.0.0.1:1", .seconds(seconds))
        guard case .invalidRequest(let invalid) = error else { throw error }
        #expect(invalid.subject == .configuration && invalid.reason.hasPrefix("a connect timeout of"))
    }
}
#endif
