#if os(Linux)
import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

/// The transport that clients share which bring none of their own.
@Suite("The default transport", .timeLimit(.minutes(10))) struct DefaultTransportTests {
    private let server: LoopbackServer

    init() throws {
        server = try LoopbackServer()
        server.onAny { request in
            switch request.path {
            case "/endless": .endless()
            case "/silent": .silence
            default: .json("1")
            }
        }
    }

    private func client() -> APIClient {
        APIClient(server.baseURL) {
            $0.rateLimit = .unlimited
            $0.retry = .never
            $0.timeout = .seconds(60)
        }
    }

    @Test(
        "clients share their connections",
        .enabled(if: InstalledLibrary.announcesRequests, InstalledLibrary.announcesNothing))
    func shared() async throws {
        let clients = (0..<10).map { _ in client() }
        for client in clients { #expect(try await client.run(.get("x")) == 1) }
        #expect(server.connections == 1)
    }

    @Test("shutdown ends the client's own calls, and no others")
    func shutDown() async throws {
        let (ending, staying) = (client(), client())
        let held = try await ending.stream(.get("endless"))
        let silent = Task { try await ending.run(Endpoint<Int>.get("silent")) }
        await server.received(atLeast: 2)
        let other = try await staying.stream(.get("endless"))
        #expect(server.openConnections == 3)
        await ending.shutdown()
        await #expect(throws: ServiceError.cancelled) { try await silent.value }
        // Its stream is over, though somebody still holds it.
        await server.openConnections(atMost: 1)
        withExtendedLifetime(held) {}
        var chunks = other.chunks.makeAsyncIterator()
        for _ in 0..<20 { #expect(try await chunks.next()?.isEmpty == false) }
        #expect(try await staying.run(.get("x")) == 1)
    }

    @Test("a stream outlives its client, and other clients")
    func outliving() async throws {
        let stream = try await client().stream(.get("endless"))
        let other = client()
        #expect(try await other.run(.get("x")) == 1)
        await other.shutdown()
        var chunks = stream.chunks.makeAsyncIterator()
        for _ in 0..<20 { #expect(try await chunks.next()?.isEmpty == false) }
        #expect(try await client().run(.get("x")) == 1)
    }

    @Test("clients come and go at the same time, and each call gets its answer")
    func comings() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<200 {
                group.addTask {
                    let client = client()
                    for _ in 0..<3 {
                        let value: Int = try await client.run(.get("x"))
                        #expect(value == 1)
                    }
                    if number.isMultiple(of: 2) { await client.shutdown() }
                }
            }
            try await group.waitForAll()
        }
    }
}

extension LoopbackServer {
    /// Waits until no more connections than these are open. Polls: a server learns of a close in its own time.
    fileprivate func openConnections(atMost count: Int) async {
        while openConnections > count { try? await Task.sleep(for: .milliseconds(5)) }
    }
}
#endif
