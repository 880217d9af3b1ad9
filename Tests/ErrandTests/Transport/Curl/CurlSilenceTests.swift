#if os(Linux)
import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

/// Connections whose peer has disappeared without closing them.
@Suite(
    "Connections that fall silent",
    .enabled(if: Program.openssl.isInstalled && Program.nginx.isInstalled, "openssl or nginx is not installed"),
    .enabled(if: InstalledLibrary.speaksHTTP2, InstalledLibrary.speaksNoHTTP2),
    .timeLimit(.minutes(2)))
struct CurlSilenceTests {
    private let authority: TestAuthority
    private let server: HTTP2Server
    private let proxy: TunnelProxy
    private let transport: CurlTransport

    init() async throws {
        authority = try await TestAuthority()
        server = try await HTTP2Server(authority.issue())
        proxy = try TunnelProxy()
        var options = CurlTransport.Options()
        options.certificateAuthorities = authority.file
        options.proxy = .url("http://127.0.0.1:\(proxy.port)")
        options.proxiesLoopback = true
        transport = CurlTransport(options)
    }

    private func client(timeout: Duration) -> APIClient {
        APIClient(server.url) {
            $0.transport = transport
            $0.rateLimit = .unlimited
            $0.timeout = timeout
            $0.connectivity = .always
        }
    }

    @Test("C44: a shared connection that has fallen silent is given up at the first timeout", arguments: [1, 12])
    func frozen(calls: Int) async throws {
        server.backend.on(.get, "/x") { _ in .json("1") }
        let patient = client(timeout: .seconds(60))
        #expect(try await patient.run(.get("x")) == 1)
        proxy.freeze()
        // A call that waits for longer keeps the silent connection in use.
        let waiting = Task { try await patient.run(Endpoint<Int>.get("x")) }
        let client = client(timeout: .seconds(1))
        let attempts = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<calls {
                group.addTask { try await client.reply(to: Endpoint<Int>.get("x")).attempts }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(attempts == Array(repeating: 2, count: calls))
        #expect(try await patient.run(.get("x")) == 1)
        waiting.cancel()
        _ = await waiting.result
    }

    @Test("C44: a server that is only slow keeps its connection; so does a cancelled call")
    func slow() async throws {
        server.backend.on(.get, "/x") { _ in .json("1") }
        let (arrivals, arrived) = AsyncStream.makeStream(of: Void.self)
        server.backend.on(.get, "/silent") { _ in
            arrived.yield()
            return .silence
        }
        var arrival = arrivals.makeAsyncIterator()
        let client = client(timeout: .seconds(60))
        #expect(try await client.run(.get("x")) == 1)
        for _ in 0..<3 {
            let silent = Task { try await client.run(Endpoint<Int>.get("silent")) }
            await arrival.next()
            silent.cancel()
            _ = await silent.result
        }
        // Half of this is the longest pause between the calls below, and a busy machine makes long ones.
        let late = Task { try await client.run(Endpoint<Int>.get("silent").timeout(.seconds(8)).retry(.never)) }
        await arrival.next()
        let isOver = Noted(false)
        let ending = Task {
            _ = await late.result
            isOver.value = true
        }
        // The bytes that arrive meanwhile show that the connection works.
        while !isOver.value { #expect(try await client.run(.get("x")) == 1) }
        await ending.value
        let error = await #expect(throws: ServiceError.self) { try await late.value }
        guard case .timedOut = error else { throw try #require(error) }
        #expect(try await client.run(.get("x")) == 1)
        #expect(proxy.received.count == 1)
    }
}
#endif
