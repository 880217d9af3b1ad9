import Errand
import ErrandTestSupport
import ErrandTesting
import FoundationEssentials
import Testing

@Suite("Streamed responses over a real connection", .timeLimit(.minutes(10))) struct StreamedConnectionTests {
    private let server: LoopbackServer
    private let client: APIClient

    init() throws {
        server = try LoopbackServer()
        client = APIClient(server.baseURL) { $0.rateLimit = .unlimited }
    }

    @Test("a body of 64 MB is read while it arrives, and is complete")
    func large() async throws {
        // Far more than is held anywhere on the way, and not so much that a busy machine takes a minute.
        let count = 64 << 20
        server.on(.get, "/x") { _ in
            LoopbackReply(
                [.write(LoopbackReply.head(200, ["Content-Length": "\(count)"]))]
                    + Array(repeating: .write(Data(repeating: 7, count: 1 << 20)), count: count >> 20))
        }
        var (received, isRight) = (0, true)
        for try await chunk in try await client.stream(.get("x")).chunks {
            isRight = isRight && chunk.first == 7
            received += chunk.count
        }
        #expect(received == count && isRight)
    }

    @Test("C33: a body that is cut off is truncated, after the chunks that arrived")
    func brokenOff() async throws {
        server.on(.get, "/x") { _ in
            LoopbackReply([.write(LoopbackReply.head(200, ["Content-Length": "10"]) + Data("12345".utf8)), .close])
        }
        var (received, failure) = (Data(), ServiceError?.none)
        do throws(ServiceError) {
            for try await chunk in try await client.stream(.get("x")).chunks { received += chunk }
        } catch {
            failure = error
        }
        #expect(received == Data("12345".utf8))
        guard case .transport(let transport) = failure else { throw try #require(failure) }
        #expect(transport.kind == .truncated && transport.mayHaveReachedServer)
    }

    @Test("dropping a response, or shutting the client down, closes its connection", arguments: [true, false])
    func closed(isDropped: Bool) async throws {
        server.on(.get, "/x") { _ in .endless() }
        var response: StreamedResponse? = try await client.stream(.get("x"))
        #expect(response?.status == 200)
        if isDropped { response = nil } else { await client.shutdown() }
        await server.connectionsClosed()
        #expect(server.openConnections == 0)
    }

    @Test("a body that is not read is not received")
    func backPressure() async throws {
        server.on(.get, "/x") { _ in .endless() }
        server.on(.get, "/other") { _ in .json("1") }
        let response = try await client.stream(.get("x"))
        // The other calls show that the transport has run.
        var sent = -1 << 20
        while server.bytesSent - sent >= 1 << 20 {
            sent = server.bytesSent
            for _ in 0..<20 { _ = try await client.run(Endpoint<Int>.get("other")) }
        }
        #expect(sent < 32 << 20)
        withExtendedLifetime(response) {}
    }
}
