import Errand
import ErrandTesting
import Foundation
import Testing

@Suite("Faults of a loopback server", .timeLimit(.minutes(10))) struct LoopbackFaultTests {
    private static let whole = "HTTP/1.1 200 Status\r\nContent-Length: 4\r\n\r\nabcd"

    private let server: LoopbackServer

    init() throws {
        server = try LoopbackServer()
    }

    private func client(asking path: String = "/x") -> RawClient {
        let client = RawClient(port: server.port)
        client.send(.get(path))
        return client
    }

    @Test(
        "a response is cut where the script says",
        arguments: [
            (.beforeHead, 0), (.withinHead, 21), (.afterHead, 42), (.withinBody, 44), (.after(43), 43),
            (.after(99), 46), (.beforeEnd, 45),
        ] as [(LoopbackReply.Cut, Int)])
    func cut(place: LoopbackReply.Cut, count: Int) {
        server.on(.get, "/x", .status(200, body: Data("abcd".utf8)).cut(place))
        #expect(client().text() == String(Self.whole.prefix(count).utf8.prefix(count)) ?? "")
    }

    @Test("a body in chunks is cut before its end, and a body in pieces has a whole head")
    func chunksAndPieces() {
        let events = LoopbackReply.events([ServerSentEvent("a"), ServerSentEvent("b", id: "2")], retry: .seconds(1))
        server.on(
            .get, "/x", events.cut(.beforeEnd), .status(200, body: Data("abcd".utf8)).inPieces(of: 3, every: .zero))
        let body = "15\r\nretry: 1000\ndata: a\n\n\r\nf\r\nid: 2\ndata: b\n\n\r\n"
        #expect(client().text()?.hasSuffix("\r\n\r\n\(body)") == true)
        #expect(client().text(count: Self.whole.utf8.count) == Self.whole)
    }

    @Test("a reset is not a regular close, before a response and within it")
    func reset() {
        server.on(.get, "/x", .reset, .json("[1]").cut(.withinBody, by: .reset), .json("[1]").thenReset, .json("[1]"))
        #expect(client().readAll() == nil)
        #expect(client().readAll() == nil)
        #expect(client().readAll() == nil)
        #expect(client().readAll() != nil)
    }

    @Test("a server that stops listening refuses connections, and can listen again")
    func refusing() throws {
        let server = try LoopbackServer(isListening: false)
        #expect(!RawClient(port: server.port).isConnected)
        try server.listen()
        server.on(.get, "/x", .status(204))
        let client = RawClient(port: server.port)
        client.send(.get("/x"))
        #expect(client.text()?.hasPrefix("HTTP/1.1 204 ") == true)
        server.close()
        #expect(!RawClient(port: server.port).isConnected)
    }

    @Test("a connection misbehaves by its number, before any request")
    func onConnection() {
        server.onConnection { number in
            switch number {
            case 1: .close
            case 2: .raw("SSH-2.0-hello\r\n")
            default: nil
            }
        }
        server.on(.get, "/x", .status(204))
        #expect(RawClient(port: server.port).text() == "")
        #expect(RawClient(port: server.port).text() == "SSH-2.0-hello\r\n")
        #expect(client().text()?.hasPrefix("HTTP/1.1 204 ") == true)
    }

    @Test("a response is sent byte by byte, and a delayed one after its delay")
    func dripping() {
        server.on(
            .get, "/x", .status(200, body: Data("abcd".utf8)).dripping(every: .milliseconds(2)).after(.milliseconds(50))
        )
        let start = ContinuousClock.now
        #expect(client().text() == Self.whole)
        #expect(start.duration(to: .now) >= .milliseconds(50 + 2 * 46))
        // With all of these pauses it would take 46 minutes.
        server.on(.get, "/slow", .status(200, body: Data("abcd".utf8)).dripping(every: .seconds(60)))
        #expect(client(asking: "/slow").read() == Data("H".utf8))
    }

    @Test("interim responses, surplus bytes and trailers are written in their places")
    func around() {
        server.on(
            .get, "/x", .status(204).preceded(by: 100, 103), .status(200).followed(by: Data("more".utf8)),
            .chunks([Data("ab".utf8), Data("c".utf8)], trailer: ["X-End": "1"]), .redirect(307, to: "/y"))
        #expect(
            client().text()
                == "HTTP/1.1 100 Status\r\nX-Interim: 100\r\n\r\nHTTP/1.1 103 Status\r\nX-Interim: 103\r\n\r\n"
                + "HTTP/1.1 204 Status\r\n\r\n")
        #expect(client().text() == "HTTP/1.1 200 Status\r\nContent-Length: 0\r\n\r\nmore")
        #expect(client().text()?.hasSuffix("\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\nX-End: 1\r\n\r\n") == true)
        #expect(client().text()?.contains("307 Status\r\nLocation: /y\r\n") == true)
    }

    @Test("an endless body continues as long as it is read")
    func endless() async {
        server.on(.get, "/x", .endless())
        var client: RawClient? = client()
        #expect(client?.text(count: 10 << 20).utf8.count == 10 << 20)
        #expect(server.bytesSent >= 10 << 20)
        client = nil
        await server.connectionsClosed()
    }

    @Test("silence lasts until the client disconnects or the server ends")
    func silence() async {
        server.on(.get, "/x", .silence.always)
        var client: RawClient? = client()
        await server.received(atLeast: 1)
        #expect(server.openConnections == 1)
        client = nil
        await server.connectionsClosed()
        let other = self.client()
        await server.received(atLeast: 2)
        server.closeConnections()
        #expect(other.text() == "")
        _ = client
    }
}
