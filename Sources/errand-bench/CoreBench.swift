import CAllocations
import Errand
import ErrandSimulation
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What the library itself costs: a call with every layer on, beside the bare transport, both answered from a script.
enum CoreBench {
    private static let calls = 20_000
    private static let cycles = 7
    /// The headers of a response as a server behind a proxy sends them.
    private static let headers: HTTPHeaders = [
        "Date": "Tue, 15 Nov 1994 08:12:31 GMT", "Server": "nginx", "Content-Type": "application/problem+json",
        "Connection": "keep-alive", "Vary": "Accept, Origin", "ETag": "\"33a64df5\"", "Cache-Control": "no-store",
        "X-Request-Id": "b3c1a7e0-3b1f-4c0e-9a53-0d3f8a1f8f3e", "X-RateLimit-Remaining": "41",
        "X-RateLimit-Limit": "50", "Strict-Transport-Security": "max-age=31536000",
        "X-Content-Type-Options": "nosniff",
    ]

    /// A middleware that does nothing.
    private struct Passing: Middleware {
        func intercept(_ request: HTTPRequest, _ context: CallContext, next: Next) async throws -> HTTPResponse {
            try await next(request, context)
        }
    }

    static func run(into report: inout Report) async throws {
        let tokens = TokenStore { $0 }
        await tokens.signIn(Token(accessToken: "token", expiry: Date(timeIntervalSinceNow: 86_400)))
        var (full, watched, everything, bare): ([Double], [Double], [Double], [Double]) = ([], [], [], [])
        var refused: [Double] = []
        var (fullAllocations, bareAllocations) = (0, 0)
        let request = HTTPRequest(method: .get, url: try HTTPURL("https://api.test/users/7/friends"))
        for _ in 0..<cycles {
            // A fresh transport for each: it writes down all that was sent.
            let (client, _) = client(tokens)
            full.append(try await seconds { try await callAll(client) })
            let (observed, _) = Self.client(tokens) {
                $0.attemptMiddlewares = [Passing()]
                $0.observe = { _ in }
            }
            watched.append(try await seconds { try await callAll(observed) })
            let (listened, _) = Self.client(tokens) { $0.attemptMiddlewares = [Passing()] }
            let listening = Task { for await _ in listened.diagnostics {} }
            // The listener has to be there before the calls begin.
            await Task.yield()
            everything.append(try await seconds { try await callAll(listened) })
            listening.cancel()
            let (unknown, _) = Self.client(tokens, answering: .status(404, headers: headers).always)
            refused.append(await seconds { await failAll(unknown) })
            let (_, network) = Self.client(tokens)
            bare.append(try await seconds { try await sendAll(request, network) })
        }
        let (client, network) = client(tokens)
        try await callAll(client)
        fullAllocations = try await allocations { try await callAll(client) }
        bareAllocations = try await allocations { try await sendAll(request, network) }
        let perCall = 1e6 / Double(calls)
        report.add("core.us_per_call", .number(median(full) * perCall), "µs for a call, all layers on, not decoded")
        report.add("core.bare_us_per_call", .number(median(bare) * perCall), "µs for the scripted transport alone")
        report.add(
            "core.watched_factor", .number(median(watched) / median(full)),
            "times as long with a middleware and an observer of events")
        report.add(
            "core.us_per_call_everything_on", .number(median(everything) * perCall),
            "µs for a call with a middleware and a listener of events as well")
        report.add(
            "core.us_per_error", .number(median(refused) * perCall),
            "µs for a call that ends with 404 and \(headers.fields.count) headers")
        guard fullAllocations > 0 else { return }
        report.add(
            "core.allocations_per_call", .number(Double(fullAllocations) / Double(calls)),
            "allocations of memory by a call")
        report.add(
            "core.bare_allocations_per_call", .number(Double(bareAllocations) / Double(calls)),
            "likewise by the scripted transport alone")
    }

    private static func client(
        _ tokens: TokenStore, answering reply: ScriptedReply = ScriptedReply.json("1").always,
        _ configure: (inout Configuration) -> Void = { _ in }
    ) -> (APIClient, ScriptedTransport) {
        let network = ScriptedTransport { print($0) }
        network.onAny { reply }
        let client = APIClient("https://api.test") {
            $0.transport = network
            $0.tokens = tokens
            $0.rateLimit = .requests(1_000_000, per: .seconds(1))
            $0.deadline = .seconds(30)
            $0.parameters = ["version": "1.0"]
            configure(&$0)
        }
        return (client, network)
    }

    // Not on the main actor, on which the program begins: each call would have to come back to it.

    @concurrent
    private static func callAll(_ client: APIClient) async throws {
        for _ in 0..<calls { _ = try await client.run(Endpoint<NoContent>.get("users/7/friends")) }
    }

    @concurrent
    private static func failAll(_ client: APIClient) async {
        for _ in 0..<calls { _ = try? await client.run(Endpoint<NoContent>.get("users/7/friends")) }
    }

    @concurrent
    private static func sendAll(_ request: HTTPRequest, _ network: ScriptedTransport) async throws {
        for _ in 0..<calls { _ = try await network.send(request, context: TransportContext()) }
    }

    /// How often memory is allocated during the calls; 0 where it is not counted.
    private static func allocations(_ body: () async throws -> Void) async throws -> Int {
        guard allocations_begin() == 1 else { return 0 }
        do {
            try await body()
        } catch {
            _ = allocations_end()
            throw error
        }
        return allocations_end()
    }
}
