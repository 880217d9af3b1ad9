#if os(Linux)
import Errand
import ErrandTesting
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@Suite("Testing against a server", .timeLimit(.minutes(10)))
struct ServerSamples {
    @Test("replies come in sequence")
    func sequence() async throws {
        let server = try LoopbackServer()
        server.on(.get, "/friends", .status(503), .json(#"["Ann"]"#))
        server.on(.post, "/echo") { request in .status(200, body: request.body) }
        let client = APIClient(server.baseURL)
        let reply = try await client.reply(to: Endpoint<[String]>.get("friends"))
        #expect(reply.value == ["Ann"])
        #expect(reply.attempts == 2)
        #expect(server.received.map(\.target) == ["/friends", "/friends"])
        let echo = Endpoint<Data>.post("echo", body: .data(Data("[]".utf8), contentType: "text/plain"))
        #expect(try await client.run(echo) == Data("[]".utf8))
    }

    @Test("what the server has seen is waited for")
    func waiting() async throws {
        let server = try LoopbackServer()
        let client = APIClient(server.baseURL)
        server.on(.get, "/slow", .silence)
        let call = Task { try await client.run(Endpoint<[String]>.get("slow")) }
        await server.received(atLeast: 1)
        call.cancel()
        await #expect(throws: ServiceError.cancelled) { try await call.value }
        await server.connectionsClosed()
    }

    @Test("answers go wrong in their order")
    func goingWrong() async throws {
        let server = try LoopbackServer()
        server.on(
            .get, "/broken",
            .json("[1, 2]").cut(.withinBody),  // and the connection is closed
            .json("[1, 2]").cut(.withinHead, by: .reset),
            .json("[1, 2]").cut(.afterHead, by: .silence),
            .json("[1, 2]").dripping(every: .milliseconds(20)),
            .json("[1, 2]").inPieces(of: 3, every: .milliseconds(50)),
            .json("[1, 2]").preceded(by: 100, 103),
            .json("[1, 2]").after(.milliseconds(200)).thenClose)
        server.on(.get, "/endless", .endless())
        server.on(.get, "/bomb", .bomb(1 << 30))
        server.on(.get, "/odd", .raw("HTTP/1.1 42 What?\r\n\r\n"))
        let client = APIClient(server.baseURL) {
            $0.rateLimit = .unlimited
            $0.retry = .never
            $0.responseByteLimit = 1 << 20
        }
        for _ in 0..<2 {
            await #expect(throws: ServiceError.self) { try await client.run(Endpoint<[Int]>.get("broken")) }
        }
        let silent = Task { try await client.run(Endpoint<[Int]>.get("broken")) }
        await server.received(atLeast: 3)
        silent.cancel()
        await #expect(throws: ServiceError.cancelled) { try await silent.value }
        for _ in 0..<4 { #expect(try await client.run(Endpoint<[Int]>.get("broken")) == [1, 2]) }
        for path in ["endless", "bomb", "odd"] {
            await #expect(throws: ServiceError.self) { try await client.run(Endpoint<[Int]>.get("\(path)")) }
        }
    }

    @Test("connections and heads go wrong too")
    func early() async throws {
        let server = try LoopbackServer()
        server.onConnection { number in number == 1 ? .reset : nil }
        let down = try LoopbackServer(isListening: false)
        server.onHead(.put, "/photo") { head in
            head.headers["Content-Type"] == "image/png" ? nil : .status(415)
        }
        let client = APIClient(server.baseURL) { $0.retry = .never }
        let photo = Endpoint<NoContent>.put("photo", body: .data(Data(count: 1000), contentType: "image/gif"))
        await #expect(throws: ServiceError.self) { try await client.run(photo) }
        let error = await #expect(throws: ServiceError.self) { try await client.run(photo) }
        #expect(error?.status == 415)
        let absent = APIClient(down.baseURL) { $0.retry = .never }
        await #expect(throws: ServiceError.self) { try await absent.run(photo) }
    }

    @Test("a handler asks an actor")
    func actors() async throws {
        actor Shop {
            private(set) var orders = ["tea"]
        }
        let (server, shop) = (try LoopbackServer(), Shop())
        server.on(.get, "/orders") { _ in .encoding(await shop.orders) }
        let client = APIClient(server.baseURL)
        #expect(try await client.run(Endpoint<[String]>.get("orders")) == ["tea"])
    }

    @Test("replies of the doc comments are what they say")
    func docComments() async throws {
        let server = try LoopbackServer()
        server.on(.get, "/friends", .status(503), .json(#"["Ann"]"#))
        server.on(.get, "/half", .json(#"["Ann"]"#).cut(.withinBody).always)
        server.on(.post, "/echo") { request in .status(200, body: request.body) }
        let client = APIClient(server.baseURL)
        #expect(try await client.run(Endpoint<[String]>.get("friends")) == ["Ann"])
        await #expect(throws: ServiceError.self) { try await client.run(Endpoint<[String]>.get("half").retry(.never)) }
        server.on(.get, "/half", .json(#"["Ann"]"#).cut(.withinBody, by: .reset))
        server.on(.get, "/slow", .json(#"["Ann"]"#).after(.seconds(60)).always)
        await #expect(throws: ServiceError.self) { try await client.run(Endpoint<[String]>.get("half").retry(.never)) }
        let slow = Endpoint<[String]>.get("slow").retry(.never).timeout(.milliseconds(100))
        await #expect(throws: ServiceError.self) { try await client.run(slow) }
    }
}

@Suite("A transport of one's own is proved", .disabled("the tests of CurlTransport run the same"))
struct ProofSamples {
    private typealias MyTransport = CurlTransport

    @Test(arguments: TransportConformance.all)
    func conforms(_ rule: TransportConformance.Case) async throws {
        try await rule.check { MyTransport() }
    }
}
#endif
