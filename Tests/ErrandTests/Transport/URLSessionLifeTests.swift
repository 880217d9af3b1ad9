#if URLSession || canImport(Darwin)
import Errand
import ErrandTesting
import Foundation
import Testing

/// Waits until that has come about, without keeping a thread busy: on Linux Foundation's queues get none while the
/// tasks of a program use them all.
func until(_ condition: () -> Bool) async {
    while !condition() { try? await Task.sleep(for: .milliseconds(1)) }
}

/// How requests end before their time, how streams are read, and how a transport ends.
@Suite struct URLSessionLifeTests {
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

    @Test("C20: a task that is cancelled already sends nothing")
    func cancelledBefore() async throws {
        let (transport, request) = (URLSessionTransport(), try request("/x"))
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            return try await transport.send(request, context: TransportContext())
        }
        task.cancel()
        await #expect(throws: ServiceError.cancelled) { try await task.value }
        #expect(server.connections == 0)
    }

    @Test("C21, C22: a hundred calls cancelled at once end as cancelled, and close their connections")
    func massCancellation() async throws {
        server.on(.get, "/x") { _ in .silence }
        let (transport, request) = (URLSessionTransport(), try request("/x"))
        let errors = await withTaskGroup(of: ServiceError?.self) { group in
            for _ in 0..<100 {
                group.addTask {
                    do { _ = try await transport.send(request, context: TransportContext()) } catch {
                        return error as? ServiceError
                    }
                    return nil
                }
            }
            await until { server.received.count == 100 }
            group.cancelAll()
            var errors: [ServiceError?] = []
            for await error in group { errors.append(error) }
            return errors
        }
        #expect(errors == Array(repeating: .cancelled, count: 100))
        await until { server.openConnections == 0 }
    }

    @Test("C21: a request that is cancelled within its body is cancelled, and its connection is closed")
    func cancelledInBody() async throws {
        server.on(.get, "/x") { _ in .raw("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n123", then: .silence) }
        let (transport, request) = (URLSessionTransport(), try request("/x"))
        let receiving = Noted(false)
        let context = TransportContext { phase in receiving.value = phase == .receiving }
        let task = Task { try await transport.send(request, context: context) }
        await until { receiving.value }
        task.cancel()
        await #expect(throws: ServiceError.cancelled) { try await task.value }
        await until { server.openConnections == 0 }
    }

    @Test("a stream begins with the head and brings the body as it comes")
    func streaming() async throws {
        server.on(.get, "/x") { _ in .raw("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabc", then: .silence) }
        let transport = URLSessionTransport()
        let response = try await transport.send(try request("/x"), context: TransportContext(delivery: .stream))
        #expect(response.status == 200)
        var chunks = response.body.chunks.makeAsyncIterator()
        #expect(try await chunks.next() == Data("abc".utf8))
        // The rest never comes: the server goes.
        server.closeConnections()
        do {
            #expect(try await chunks.next() == nil)
            Issue.record("a stream that broke off ended like one that did not")
        } catch ServiceError.transport(let failure) {
            #expect(failure.kind == .truncated)
        } catch {
            Issue.record(error)
        }
    }

    @Test("a stream comes whole, and its end is its end")
    func wholeStream() async throws {
        server.on(.get, "/x") { _ in .chunks((0..<100).map { _ in Data(repeating: 65, count: 10_000) }) }
        let transport = URLSessionTransport()
        let response = try await transport.send(try request("/x"), context: TransportContext(delivery: .stream))
        #expect(try await response.body.collect(upTo: .max) == Data(repeating: 65, count: 1_000_000))
    }

    @Test("a reader that is cancelled ends the request")
    func cancelledReader() async throws {
        server.on(.get, "/x") { _ in .raw("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabc", then: .silence) }
        let transport = URLSessionTransport()
        let response = try await transport.send(try request("/x"), context: TransportContext(delivery: .stream))
        let hasRead = Noted(false)
        let reading = Task {
            for try await _ in response.body.chunks { hasRead.value = true }
        }
        await until { hasRead.value }
        reading.cancel()
        _ = await reading.result
        await until { server.openConnections == 0 }
    }

    @Test("a stream that nobody reads any more ends its request")
    func droppedStream() async throws {
        server.on(.get, "/x") { _ in .raw("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabc", then: .silence) }
        let transport = URLSessionTransport()
        _ = try await transport.send(try request("/x"), context: TransportContext(delivery: .stream))
        await until { server.openConnections == 0 }
    }

    @Test("after its shutdown a transport sends nothing and says so; what was under way has failed")
    func shutDown() async throws {
        server.on(.get, "/x") { _ in .silence }
        server.on(.post, "/x") { _ in .silence }
        let transport = URLSessionTransport()
        let (get, post) = (try request("/x"), try request("/x", .post))
        let running = [get, post].map { request in
            Task { try await transport.send(request, context: TransportContext()) }
        }
        await until { server.received.count == 2 }
        await transport.shutdown()
        await transport.shutdown()
        for task in running {
            let failure = await failure { _ = try await task.value }
            #expect(failure?.kind == .unavailable && failure?.mayHaveReachedServer == true)
        }
        let late = await failure { _ = try await transport.send(get, context: TransportContext()) }
        #expect(late?.kind == .unavailable && late?.mayHaveReachedServer == false)
        #expect(server.received.count == 2)
        await until { server.openConnections == 0 }
    }

    @Test("a transport that was never used can be shut down")
    func unused() async {
        await URLSessionTransport().shutdown()
    }

    @Test("C25: a transport that goes closes its connections")
    func dropped() async throws {
        server.on(.get, "/x") { _ in .json("1") }
        _ = try await URLSessionTransport().send(try request("/x"), context: TransportContext())
        await until { server.openConnections == 0 }
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
