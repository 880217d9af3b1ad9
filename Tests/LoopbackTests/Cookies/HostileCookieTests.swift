import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@testable import Errand

@Suite("A server that attacks with cookies", .timeLimit(.minutes(10))) struct HostileCookieTests {
    private let jar = CookieJar()

    private func client(_ server: LoopbackServer) -> APIClient {
        APIClient(server.baseURL) {
            $0.cookies = jar
            $0.retry = .never
            $0.rateLimit = .unlimited
        }
    }

    /// A response with these lines. The connection stays open: a call that follows could not know that it was closed.
    private func setting(_ lines: some Sequence<String>) -> LoopbackReply {
        let fields = lines.map { "Set-Cookie: \($0)\r\n" }.joined()
        return .raw("HTTP/1.1 200 OK\r\n\(fields)Content-Length: 0\r\n\r\n", then: nil)
    }

    /// Runs a call against each response, and then one more that must succeed. Returns the `Cookie` header of that.
    private func attack(_ replies: LoopbackReply...) async throws -> String? {
        let server = try LoopbackServer()
        defer { server.close() }
        for reply in replies { server.on(.get, "/attack", reply) }
        server.on(.get, "/after", .status(204))
        let client = client(server)
        for _ in replies { _ = try? await client.run(.get("attack")) }
        try await client.run(.get("after"))
        await client.shutdown()
        return server.received.last?.headers["Cookie"]
    }

    @Test("J4: ten thousand cookies in one response leave fifty, and a request that servers accept")
    func tenThousand() async throws {
        let server = try LoopbackServer()
        defer { server.close() }
        server.on(.get, "/attack", setting((0..<10_000).lazy.map { "c\($0)=\($0)" }))
        server.on(.get, "/after", .status(204))
        let client = client(server)
        // A transport may refuse a head of that size as a whole. Then nothing of it is kept.
        let answer = try? await client.run(Endpoint<NoContent>.get("attack"))
        let count = answer == nil ? 0 : 50
        try await client.run(.get("after"))
        await client.shutdown()
        #expect(await jar.cookies.count == count)
        let header = server.received.last?.headers["Cookie"]
        #expect((header?.split(separator: "; ").count ?? 0) == count)
    }

    @Test("J4: large cookies, response after response, keep the request small")
    func large() async throws {
        let value = String(repeating: "v", count: 4000)
        let replies = (0..<30).map { number in setting((0..<20).map { "c\(number)-\($0)=\(value)" }) }
        let server = try LoopbackServer()
        defer { server.close() }
        for reply in replies { server.on(.get, "/attack", reply) }
        let client = client(server)
        for _ in replies { _ = try? await client.run(.get("attack")) }
        await client.shutdown()
        #expect(await jar.cookies.count == 50)
        for request in server.received { #expect((request.headers["Cookie"] ?? "").utf8.count <= 8190) }
        #expect(server.received.last?.headers["Cookie"]?.hasPrefix("c") == true)
    }

    @Test("J4: a head of cookies without an end ends the call, and nothing of it is kept")
    func endless() async throws {
        let start = Data("HTTP/1.1 200 OK\r\n".utf8)
        let line = Data("Set-Cookie: a=\(String(repeating: "v", count: 1000))\r\n".utf8)
        #expect(try await attack(LoopbackReply([.write(start), .repeatForever(line)])) == nil)
        #expect(await jar.cookies.isEmpty)
    }

    @Test("J1, J4: bytes that do not belong into a cookie are never sent back")
    func bytes() async throws {
        let header = try await attack(
            setting(["nul=a\0b"]), setting(["cr=a\rb; Path=/"]), setting(["esc=a\u{1B}b"]),
            setting(["fine=1; Path=/", "tab=a\tb; Path=/"]),
            setting(["high=\u{FF}; Path=/"]))
        let sent = try #require(header)
        #expect(sent.contains("fine=1") && sent.contains("tab=a\tb"))
        #expect(sent.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 })
        #expect(!sent.contains("nul=") && !sent.contains("esc="))
    }

    @Test("J4, J7: lines that seem to be joined, one in the other, end in cookies that are whole")
    func nested() async throws {
        let joined = (0..<2000).map { "c\($0)=\"x, y; Path=/" }.joined(separator: ", ")
        let commas = "a=1; Path=/" + String(repeating: ", b=2; Path=/", count: 3000)
        let marks = String(repeating: ",;=\"", count: 5000)
        _ = try await attack(setting([joined]), setting([commas]), setting([marks]))
        let cookies = await jar.cookies
        #expect(cookies.count <= 50)
        #expect(cookies.allSatisfy { $0.problem == nil && $0.domain == "127.0.0.1" })
    }

    @Test("J2: a server cannot set a cookie for another host, whatever it names")
    func domains() async throws {
        let domains = ["example.com", "0.0.1", "1", "127.0.0.2", "localhost", "com", "*"]
        let header = try await attack(setting(domains.map { "a=1; Domain=\($0)" }))
        #expect(header == nil)
        #expect(await jar.cookies.isEmpty)
    }
}
