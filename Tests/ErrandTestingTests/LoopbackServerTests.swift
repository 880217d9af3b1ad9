import Errand
import ErrandTesting
import Foundation
import Testing

@Suite("What a loopback server receives and sends", .timeLimit(.minutes(10))) struct LoopbackServerTests {
    private let server: LoopbackServer

    init() throws {
        server = try LoopbackServer()
    }

    @Test("a request is recorded byte for byte, and the handler makes the response")
    func roundTrip() throws {
        server.on(.post, "/a b") { _ in .status(500) }
        server.on(.post, "/x%2Fy") { request in .status(201, headers: ["X-One": "1"], body: request.body) }
        let text = "POST /x%2Fy?a=b%26&c HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc"
        #expect(server.answer(to: text) == "HTTP/1.1 201 Status\r\nX-One: 1\r\nContent-Length: 3\r\n\r\nabc")
        let request = try #require(server.received.first)
        #expect(request.method == .post)
        #expect(request.path == "/x%2Fy")
        #expect(request.segments == ["x/y"])
        #expect(request.query == [QueryItems.Item(name: "a", value: "b&"), QueryItems.Item(name: "c", value: "")])
        #expect(request.headers["host"] == "h")
        #expect(request.head + request.body == Data(text.utf8))
        #expect(server.bytesReceived == text.utf8.count)
    }

    @Test("a chunked body is put together, however it is split into pieces")
    func chunkedRequest() {
        server.on(.post, "/x") { .status(200, body: $0.body) }
        let client = RawClient(port: server.port)
        let text =
            "POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
            + "3;note=1\r\nabc\r\nA\r\n0123456789\r\n0\r\nTrailer: 1\r\n\r\n"
        for byte in text.utf8 { client.send(Data([byte])) }
        #expect(client.text()?.hasSuffix("\r\n\r\nabc0123456789") == true)
    }

    @Test("a connection serves several requests in turn, also if they arrive together")
    func keepAlive() {
        server.on(.get, "/x") { .status(200, body: Data("\($0.connection).\($0.number)".utf8)) }
        let text = server.answer(to: .get("/x", keeping: true) + .get("/x", keeping: true) + .get("/x"))
        #expect(text?.split(separator: "\r\n\r\n").map { $0.prefix(3) } == ["HTT", "1.1", "1.2", "1.3"])
        #expect(server.connections == 1)
        #expect(server.received.count == 3)
    }

    @Test("replies are used in order, and of several scripts the first with a reply left")
    func sequence() {
        server.onAny(.status(202).always)
        server.on(.get, "/x?now", .status(204))
        server.on(.get, "/x", .status(503), .status(200))
        server.on(.get, "/x", .status(200))
        let statuses = ["/x", "/x", "/x?now", "/x", "/x", "/y"].map { path in
            server.answer(to: .get(path)).flatMap { Int($0.dropFirst(9).prefix(3)) }
        }
        #expect(statuses == [503, 200, 204, 200, 202, 202])
    }

    @Test("a request without a script gets a 404")
    func unexpected() {
        server.on(.post, "/x", .status(200))
        #expect(server.answer(to: .get("/x"))?.hasPrefix("HTTP/1.1 404 ") == true)
    }

    @Test("a response to HEAD has the head of the response to GET, and raw bytes are sent as they are")
    func head() {
        server.on(.head, "/x", .json("[1]"), .chunks([Data("1".utf8)]), .raw("HTTP/1.1 200 OK\r\n\r\nbody"))
        func head() -> String? { server.answer(to: "HEAD /x HTTP/1.1\r\nConnection: close\r\n\r\n") }
        #expect(
            head() == "HTTP/1.1 200 Status\r\nContent-Type: application/json\r\nContent-Length: 3\r\n\r\n")
        #expect(head() == "HTTP/1.1 200 Status\r\nTransfer-Encoding: chunked\r\n\r\n")
        #expect(head() == "HTTP/1.1 200 OK\r\n\r\nbody")
    }

    @Test("an early response is sent before the body, which is read afterwards")
    func early() async throws {
        server.onHead(.put, "/x") { request in request.headers["X-Go"] == nil ? .status(413) : nil }
        server.on(.put, "/x", .status(201))
        let client = RawClient(port: server.port)
        client.send("PUT /x HTTP/1.1\r\nContent-Length: 4\r\n\r\nab")
        let answer = "HTTP/1.1 413 Status\r\nContent-Length: 0\r\n\r\n"
        #expect(client.text(count: answer.utf8.count) == answer)
        client.send("cdPUT /x HTTP/1.1\r\nX-Go: 1\r\nConnection: close\r\nContent-Length: 1\r\n\r\ne")
        #expect(client.text()?.hasPrefix("HTTP/1.1 201 ") == true)
        #expect(server.received.map(\.body) == [Data("abcd".utf8), Data("e".utf8)])
    }

    @Test("a client that expects 100 Continue gets it, unless a reply comes first")
    func continuing() {
        server.on(.put, "/x", .status(201))
        let text = "PUT /x HTTP/1.1\r\nExpect: 100-continue\r\nConnection: close\r\nContent-Length: 1\r\n\r\n"
        #expect(server.answer(to: text + "a")?.hasPrefix("HTTP/1.1 100 Status\r\n\r\nHTTP/1.1 201 ") == true)
        server.onHead(.put, "/x") { _ in LoopbackReply.status(417).thenClose }
        #expect(server.answer(to: text) == "HTTP/1.1 417 Status\r\nContent-Length: 0\r\n\r\n")
    }

    @Test("the time to read a large body grows with its length, not with the square of it")
    func largeBody() throws {
        server.on(.put, "/x") { .status(200, body: Data("\($0.body.count)".utf8)) }
        let size = 64 << 20
        let client = RawClient(port: server.port)
        client.send("PUT /x HTTP/1.1\r\nConnection: close\r\nContent-Length: \(size)\r\n\r\n")
        client.send(Data(repeating: 1, count: size))
        #expect(client.text()?.hasSuffix("\r\n\r\n\(size)") == true)
    }

    @Test("two hundred connections are served at once")
    func many() async {
        server.on(.get, "/x", .status(200).always)
        let clients = (0..<200).map { _ in RawClient(port: server.port) }
        for client in clients { client.send(.get("/x")) }
        #expect(clients.allSatisfy { $0.text()?.hasPrefix("HTTP/1.1 200 ") == true })
        await server.connectionsClosed()
        #expect(server.connections == 200)
    }
}
