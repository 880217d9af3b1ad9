#if os(Linux)
import Errand
import ErrandSimulation
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
#if canImport(Glibc)
import Glibc
#else
import Musl
#endif

/// Measures what calls cost beside a server that keeps libcurl's thread busy.
///
/// What counts is how long that thread has worked, not the time on the clock. On a machine that has little
/// time for this process, the thread does not work for the attacker either; and the process does nothing else.
struct Starving {
    let attacked: String
    let authorities: String

    /// How many calls are made to another server.
    let calls: Int

    private static let attacks = 8

    /// Prints for how many milliseconds the thread has worked: during the slowest call to another server, during an
    /// attacked call with a deadline of 300 ms, and from when all attacked calls are cancelled until they have ended.
    func report() async throws {
        // A call that starves never ends, so the process does.
        alarm(300)
        let transport = CurlTransport(trusting: authorities, through: .none)
        let server = try LoopbackServer()
        server.onAny { _ in .json("1") }
        let (innocent, attacked) = (client(server.baseURL, transport), client(attacked, transport))
        // The thread begins with the first call.
        _ = try await innocent.run(Endpoint<Int>.get("x"))
        guard let thread = try CurlThread.all().first else { return print("there is no thread") }
        let attacks = await attacks(by: attacked)
        var slowest = 0
        for _ in 0..<calls {
            slowest = max(slowest, try await work(of: thread) { _ = try await innocent.run(Endpoint<Int>.get("x")) })
        }
        let late = try await work(of: thread) {
            _ = try? await attacked.run(Endpoint<Int>.get("x").deadline(.milliseconds(300)))
        }
        let ended = try await work(of: thread) {
            for attack in attacks { attack.cancel() }
            for attack in attacks { await attack.value }
        }
        print(slowest, late, ended)
        await transport.shutdown()
    }

    /// Begins the attacked calls, half of which are read as streams. Returns when one at least is received.
    private func attacks(by client: APIClient) async -> [Task<Void, Never>] {
        let (pieces, came) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let streams = (0..<Self.attacks / 2).map { _ in
            Task {
                while !Task.isCancelled {
                    guard let stream = try? await client.stream(.get("x")) else { continue }
                    do { for try await _ in stream.chunks { came.yield() } } catch { continue }
                }
            }
        }
        let wholes = (0..<Self.attacks / 2).map { _ in
            Task { while !Task.isCancelled { _ = try? await client.run(Endpoint<Data>.get("x")) } }
        }
        var arrivals = pieces.makeAsyncIterator()
        await arrivals.next()
        return streams + wholes
    }

    private func work(of thread: CurlThread, during action: () async throws -> Void) async throws -> Int {
        let before = thread.work
        try await action()
        return Int((thread.work - before) / .milliseconds(1))
    }

    private func client(_ url: String, _ transport: CurlTransport) -> APIClient {
        APIClient(url) {
            $0.transport = transport
            $0.rateLimit = .unlimited
            $0.retry = .never
            $0.timeout = .seconds(60)
            $0.responseByteLimit = 1 << 40
        }
    }
}
#endif
