#if URLSession || canImport(Darwin)
import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

/// Requests that are cancelled before they begin, and the end of a transport.
@Suite("The life of a URLSession transport", .timeLimit(.minutes(10))) struct URLSessionLifeTests {
    private let server: LoopbackServer

    init() throws {
        server = try LoopbackServer()
    }

    private func request(_ path: String, _ method: HTTPMethod = .get) throws -> HTTPRequest {
        HTTPRequest(method: method, url: try HTTPURL(server.baseURL + path))
    }

    private func failure(_ operation: () async throws -> Void) async -> TransportFailure? {
        do { try await operation() } catch ServiceError.transport(let failure) { return failure } catch {}
        return nil
    }

    @Test("C20: a task that is already cancelled sends nothing")
    func cancelledBefore() async throws {
        let (transport, request) = (URLSessionTransport(), try request("/x"))
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await transport.send(request, context: TransportContext())
        }
        await #expect(throws: ServiceError.cancelled) { try await task.value }
        #expect(server.connections == 0)
    }

    @Test("a send without a client ends at its timeout")
    func timeout() async throws {
        server.on(.get, "/silent") { _ in .silence }
        let (transport, request) = (URLSessionTransport(), try request("/silent"))
        let context = TransportContext(timeout: .milliseconds(200))
        let error = await #expect(throws: ServiceError.self) { try await transport.send(request, context: context) }
        guard case .timedOut(let timeout) = error else { throw try #require(error) }
        #expect(timeout.bound == .attempt && timeout.limit == .milliseconds(200))
    }

    @Test("after its shutdown a transport sends nothing and says so; requests in flight have failed")
    func shutDown() async throws {
        server.on(.get, "/x") { _ in .silence }
        server.on(.post, "/x") { _ in .silence }
        let transport = URLSessionTransport()
        let (get, post) = (try request("/x"), try request("/x", .post))
        let running = [get, post].map { request in
            Task { try await transport.send(request, context: TransportContext()) }
        }
        await server.received(atLeast: 2)
        await transport.shutdown()
        await transport.shutdown()
        for task in running {
            let failure = await failure { _ = try await task.value }
            #expect(failure?.kind == .unavailable && failure?.mayHaveReachedServer == true)
        }
        let late = await failure { _ = try await transport.send(get, context: TransportContext()) }
        #expect(late?.kind == .unavailable && late?.mayHaveReachedServer == false)
        #expect(server.received.count == 2)
        await server.connectionsClosed()
    }

    @Test("a transport that was never used can be shut down")
    func unused() async {
        await URLSessionTransport().shutdown()
    }

    @Test("C25: a transport that is deallocated closes its connections")
    func dropped() async throws {
        server.on(.get, "/x") { _ in .json("1") }
        _ = try await URLSessionTransport().send(try request("/x"), context: TransportContext())
        await server.connectionsClosed()
        #expect(server.connections == 1)
    }

    @Test("a stream outlives its transport")
    func streamOfDropped() async throws {
        server.on(.get, "/x") { _ in
            LoopbackReply([
                .write(Data("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabc".utf8)), .pause(.milliseconds(20)),
                .write(Data("def".utf8)),
            ])
        }
        let response = try await URLSessionTransport().send(
            try request("/x"), context: TransportContext(delivery: .stream))
        #expect(try await response.body.collect(upTo: 10) == Data("abcdef".utf8))
    }
}
#endif
