#if os(Linux)
import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("Handlers of a loopback server that suspend", .timeLimit(.minutes(10))) struct LoopbackHandlerTests {
    private let server: LoopbackServer

    init() throws {
        server = try LoopbackServer()
    }

    /// Never returns, whatever happens to its task.
    private static func hang() async -> LoopbackReply {
        await withUnsafeContinuation { (_: UnsafeContinuation<LoopbackReply, Never>) in }
    }

    /// The current thread.
    private static var thread: ObjectIdentifier { ObjectIdentifier(Thread.current) }

    @Test("a handler may wait for a task, for a route, for any request, for a head and for a connection")
    func replies() async {
        let names = FirstLetters()
        server.on(.post, "/x") { request in .status(200, body: await names.letter(of: request.body)) }
        server.onAny { _ in .status(202, body: await names.letter(of: Data("any".utf8))) }
        server.onHead(.put, "/head") { head in
            await names.letter(of: Data(head.target.utf8)) == "/" && head.headers["X-Go"] == nil ? .status(415) : nil
        }
        let posted = server.answer(to: "POST /x HTTP/1.1\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc")
        #expect(posted?.hasSuffix("\r\na") == true)
        #expect(server.answer(to: .get("/y"))?.hasSuffix("\r\na") == true)
        let head = "PUT /head HTTP/1.1\r\nConnection: close\r\nContent-Length: 0\r\n"
        #expect(server.answer(to: "\(head)\r\n")?.hasPrefix("HTTP/1.1 415") == true)
        #expect(server.answer(to: "\(head)X-Go: 1\r\n\r\n")?.hasPrefix("HTTP/1.1 202") == true)
        server.onConnection { number in await names.letter(of: Data("\(number)".utf8)) == "5" ? .raw("five") : nil }
        // Nothing is sent that the server would leave unread.
        #expect(RawClient(port: server.port).text() == "five")
        #expect(server.answer(to: .get("/y"))?.hasPrefix("HTTP/1.1 202") == true)
    }

    @Test("a handler runs on the thread of its connection, before it suspends and after that, so it may block")
    func threads() {
        let threads = Noted<[ObjectIdentifier]>([])
        server.on(.get, "/plain") { _ in
            threads.update { $0.append(Self.thread) }
            return .status(200)
        }
        server.on(.get, "/suspends") { _ in
            threads.update { $0.append(Self.thread) }
            await Task.yield()
            try await Task.sleep(for: .milliseconds(1))
            threads.update { $0.append(Self.thread) }
            return .status(200)
        }
        _ = server.answer(to: .get("/plain", keeping: true) + .get("/suspends"))
        #expect(threads.value.count == 3 && Set(threads.value).count == 1)
    }

    @Test("an error of a handler is a 500 that says what it was")
    func errors() {
        struct Odd: Error {}
        server.on(.get, "/x") { _ in
            try await Task.sleep(for: .zero)
            throw Odd()
        }
        let text = server.answer(to: .get("/x"))
        #expect(text?.hasPrefix("HTTP/1.1 500") == true && text?.hasSuffix("the handler has thrown Odd()") == true)
    }

    @Test("the server ends although a handler does not return, and the handler's task is canceled")
    func closing() async {
        let (ends, end) = AsyncStream.makeStream(of: Bool.self)
        server.on(.get, "/hangs") { _ in await Self.hang() }
        server.on(.get, "/waits") { _ in
            // Only a cancellation ends this sleep.
            try? await Task.sleep(for: .seconds(86_400))
            end.yield(Task.isCancelled)
            end.finish()
            return .status(200)
        }
        let clients = ["/hangs", "/waits"].map { path in
            let client = RawClient(port: server.port)
            client.send(.get(path))
            return client
        }
        await server.received(atLeast: 2)
        server.close()
        await server.closed()
        for client in clients { #expect(client.text() == "") }
        for await isCanceled in ends { #expect(isCanceled) }
    }

    @Test("when the connections are closed, a handler keeps no thread, and the server goes on")
    func closingConnections() async {
        server.on(.get, "/hangs") { _ in await Self.hang() }
        server.on(.get, "/x", .status(200))
        let client = RawClient(port: server.port)
        client.send(.get("/hangs"))
        await server.received(atLeast: 1)
        server.closeConnections()
        await server.connectionsClosed()
        #expect(client.text() == "")
        #expect(server.answer(to: .get("/x"))?.hasPrefix("HTTP/1.1 200") == true)
    }

    @Test("a handler that begins after its connection was closed keeps no thread either")
    func beginning() async {
        server.onHead(.get, "/hangs") { [server] _ -> LoopbackReply? in
            server.closeConnections()
            return nil
        }
        server.on(.get, "/hangs") { _ in await Self.hang() }
        #expect(server.answer(to: .get("/hangs")) == "")
        await server.connectionsClosed()
    }
}

private actor FirstLetters {
    func letter(of data: Data) -> String { String(String(decoding: data, as: UTF8.self).prefix(1)) }
}
#endif
