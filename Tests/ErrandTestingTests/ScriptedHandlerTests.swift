import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("Handlers of a scripted transport") struct ScriptedHandlerTests {
    private let clock = TestClock()
    private let network = scripted()

    private var client: APIClient { testClient(network, clock) { $0.retry = .never } }

    @Test("a reply of a handler takes its time")
    func delay() async throws {
        network.on(.get, "/x") { request in
            .json(#""\#(request.headers["X-Name"] ?? "")""#).after(.seconds(3))
        }
        let name = try await clock.run { [client] in
            try await client.run(Endpoint<String>.get("x").header("X-Name", "Ann"))
        }
        #expect(name == "Ann")
        #expect(clock.elapsed == .seconds(3))
    }

    @Test("a handler that suspends does so in the client's time, and its delay counts from the request")
    func suspending() async throws {
        network.on(.get, "/x") { [clock] _ in
            try await clock.sleep(for: .seconds(2))
            return .json("1").after(.seconds(3))
        }
        let answer = try await clock.run { [client] in try await client.run(Endpoint<Int>.get("x")) }
        #expect(answer == 1)
        #expect(clock.elapsed == .seconds(3))
    }

    @Test("a body of a handler's reply comes in pieces, and may break off")
    func bodies() async throws {
        network.on(.get, "/pieces") { _ in .json("[1, 2]").inPieces(of: 2, every: .seconds(5)) }
        network.on(.get, "/half") { _ in .json("[1").thenFailure(.truncated) }
        try await clock.run { [client] in
            #expect(try await client.run(Endpoint<[Int]>.get("pieces")) == [1, 2])
            let error = await #expect(throws: ServiceError.self) { try await client.run(Endpoint<[Int]>.get("half")) }
            guard case .transport(let failure) = error else { throw try #require(error) }
            #expect(failure.kind == .truncated)
        }
        #expect(clock.elapsed == .seconds(15))
    }

    @Test("a handler's reply may fail or be silent, and so may the handler")
    func failures() async throws {
        struct Odd: Error {}
        network.onAny { request in
            switch request.url.path {
            case "/refused": return .failure(.refused)
            case "/silent": return .silence
            default: throw Odd()
            }
        }
        try await clock.run { [client] in
            for (path, kind) in [("refused", TransportFailure.Kind.refused), ("odd", .other)] {
                let error = await #expect(throws: ServiceError.self) {
                    try await client.run(Endpoint<NoContent>.get("\(path)"))
                }
                guard case .transport(let failure) = error else { throw try #require(error) }
                #expect(failure.kind == kind)
            }
            let silent = Endpoint<NoContent>.get("silent").timeout(.seconds(4))
            let error = await #expect(throws: ServiceError.self) { try await client.run(silent) }
            guard case .timedOut = error else { throw try #require(error) }
        }
        #expect(clock.elapsed == .seconds(4))
    }

    @Test("how often a handler's reply is for does not matter")
    func counts() async throws {
        network.on(.get, "/x", times: 2) { _ in .json("1").times(0) }
        for _ in 0..<2 { #expect(try await client.run(Endpoint<Int>.get("x")) == 1) }
        try network.verify()
    }

    @Test("a redirect, bytes and a file are replies, as those of a loopback server are")
    func kinds() async throws {
        let file = LoopbackFile(Data("0123456789".utf8))
        network.on(.get, "/a", .redirect(307, to: "/b"))
        network.on(.get, "/b", .status(200, body: Data([0xFF, 0x00])))
        network.on(.get, "/file") { file.reply(to: $0) }
        #expect(try await client.run(Endpoint<Data>.get("a")) == Data([0xFF, 0x00]))
        #expect(try await client.run(Endpoint<Data>.get("file")) == file.content)
        let part = try await client.reply(to: Endpoint<Data>.get("file").header("Range", "bytes=2-4"))
        #expect(part.value == Data("234".utf8) && part.status == 206)
        #expect(part.headers["Content-Range"] == "bytes 2-4/10")
    }
}
