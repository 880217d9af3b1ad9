#if os(Linux)
import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

/// Servers in processes of their own, which are killed and suspended.
@Suite(
    "Several servers, as processes", .enabled(if: Program.nginx.isInstalled, "nginx is not installed"),
    .timeLimit(.minutes(10)))
struct SeveralServersTests {
    private let call = Endpoint<Int>.get("x")

    /// Starts servers that respond with their numbers.
    private func servers(_ count: Int) async throws -> [Nginx] {
        var servers: [Nginx] = []
        for number in 0..<count {
            let settings = "location / { default_type application/json; return 200 \"\(number)\"; }"
            servers.append(try await Nginx(in: Scratch(), server: settings))
        }
        return servers
    }

    private func client(_ servers: [Nginx], _ configure: (inout Configuration) -> Void = { _ in }) -> APIClient {
        let urls = servers.map { "http://127.0.0.1:\($0.port)" }
        let environment = ServerEnvironment(
            name: "servers", baseURL: urls[0], otherBaseURLs: Array(urls.dropFirst()))
        return APIClient(environment) {
            $0.rateLimit = .unlimited
            $0.timeout = .seconds(1)
            configure(&$0)
        }
    }

    /// Makes calls, and runs a closure in their middle. Returns the values of the calls, and the number of those that
    /// needed a second attempt.
    private func run(
        _ count: Int, _ client: APIClient, inTheMiddle disturb: @escaping @Sendable () -> Void
    ) async throws -> (values: [Int], repeated: Int) {
        let results = await client.results(of: Array(0..<count), atMost: 8) { number in
            if number == count / 2 { disturb() }
            return try await client.reply(to: call)
        }
        let replies = try results.map { try $0.get() }
        return (replies.map(\.value), replies.count { $0.attempts > 1 })
    }

    @Test("B1, B3: when a server is killed, no call fails, and only those that it had or got first are sent again")
    func killed() async throws {
        let servers = try await servers(3)
        let client = client(servers)
        let (values, repeated) = try await run(600, client) { _ = servers[0].process.stop() }
        #expect(Set(values) == [0, 1] && values.suffix(250).allSatisfy { $0 == 1 })
        #expect(repeated <= 24, "\(repeated)")
        // So it is with the next one, which leaves the last.
        let (next, again) = try await run(600, client) { _ = servers[1].process.stop() }
        #expect(next.suffix(250).allSatisfy { $0 == 2 } && again <= 32, "\(again)")
    }

    @Test("B1, B2: when a server is suspended, only the calls that it has wait for it, and no other does")
    func suspended() async throws {
        let servers = try await servers(2)
        let client = client(servers)
        let (values, repeated) = try await run(600, client) { servers[0].process.suspend() }
        servers[0].process.resume()
        #expect(Set(values) == [0, 1] && values.suffix(250).allSatisfy { $0 == 1 })
        #expect(repeated <= 16, "\(repeated)")
        let isAside = if case .setAside = client.servers.snapshot[0].state { true } else { false }
        #expect(isAside && client.servers.snapshot[1].state == .inUse)
    }

    @Test("B1: a server to which no connection can be opened is left like one that refuses them")
    func blackHole() async throws {
        let servers = try await servers(1)
        let hole = try BlackHole()
        let client = APIClient(.servers("http://127.0.0.1:\(hole.port)", "http://127.0.0.1:\(servers[0].port)")) {
            $0.rateLimit = .unlimited
            $0.timeout = .milliseconds(500)
        }
        let (values, repeated) = try await run(200, client) {}
        #expect(values.allSatisfy { $0 == 0 } && (1...16).contains(repeated), "\(repeated)")
    }
}

/// Three servers behind one address.
@Suite(
    "Servers behind haproxy", .enabled(if: Program.haproxy.isInstalled, "haproxy is not installed"),
    .timeLimit(.minutes(10)))
struct ServersBehindProxyTests {
    private let servers: [LoopbackServer]
    private let call = Endpoint<Int>.get("x")

    init() throws {
        servers = try (0..<3).map { _ in try LoopbackServer() }
    }

    private func client(_ configure: (inout Configuration) -> Void) async throws -> (APIClient, HAProxy) {
        let proxy = try await HAProxy(in: Scratch(), before: servers.map(\.port))
        let client = APIClient("http://127.0.0.1:\(proxy.port)") {
            $0.rateLimit = .unlimited
            configure(&$0)
        }
        return (client, proxy)
    }

    @Test("B8: one dead server of three is retried, and opens no breaker; all three do, and it closes when one is back")
    func breaker() async throws {
        for server in servers { server.onAny(.json("1").always) }
        let (client, proxy) = try await client {
            $0.breaker = .opening(at: 0.5, ofAtLeast: 20, within: .seconds(30), for: .milliseconds(200))
            $0.retry = RetryPolicy(attempts: 3, base: .milliseconds(1))
        }
        servers[0].close()
        for _ in 0..<60 { _ = try await client.run(call) }
        #expect(client.servers.snapshot[0].state == .inUse)
        for server in servers.dropFirst() { server.close() }
        var errors: [ServiceError] = []
        for _ in 0..<200 {
            do throws(ServiceError) { _ = try await client.run(call) } catch { errors.append(error) }
        }
        let refused = errors.count { error in
            if case .transport(let failure) = error { failure.kind == .circuitOpen } else { false }
        }
        #expect(errors.count == 200 && refused > 0, "\(refused)")
        _ = proxy
    }

    @Test("B9, B10: when one of three servers is slow, its requests go to another one, and no call waits for it")
    func hedging() async throws {
        servers[0].onAny(.json("1").after(.seconds(30)).always)
        for server in servers.dropFirst() { server.onAny(.json("1").always) }
        let retries = Noted<[String]>([])
        let (client, proxy) = try await client {
            $0.hedging = .after(.fixed(.milliseconds(50)), budget: 1)
            $0.timeout = .seconds(60)
            $0.observe = { event in
                if case .retrying = event.kind { retries.update { $0.append(LogFormatter().line(for: event)) } }
            }
        }
        for _ in 0..<60 {
            let reply = try await client.reply(to: call)
            #expect(reply.duration < .seconds(20) && reply.attempts == 1, "\(retries.value)")
        }
        let requests = servers.map(\.received.count)
        #expect(requests[0] > 10 && requests.reduce(0, +) > 60, "\(requests)")
        _ = proxy
    }
}

/// A port to which no connection can be opened: its queue is full, and nobody takes from it.
private final class BlackHole: Sendable {
    let port: Int
    private let descriptors: [CInt]

    init() throws {
        let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        var opened = [server]
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                _ = bind(server, pointer, length)
                _ = listen(server, 0)
                _ = getsockname(server, pointer, &length)
                // One is accepted by the kernel, and the next ones wait.
                for _ in 0..<4 {
                    let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
                    _ = connect(client, pointer, length)
                    opened.append(client)
                }
            }
        }
        descriptors = opened
        port = Int(UInt16(bigEndian: address.sin_port))
    }

    deinit { for descriptor in descriptors { close(descriptor) } }
}
#endif
