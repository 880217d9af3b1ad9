@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

/// A walk over what users do with a client, its cache and its sessions, against a server that counts its changes.
@Suite("Whatever users do, no user is given what is out of date or belongs to another", .timeLimit(.minutes(10)))
struct CacheClientWalkTests {
    private static let lifetime = 20

    /// Three resources with the number of their last change, and when each number came to be.
    private final class Server: Sendable {
        private let changes = Lock<[String: [(version: Int, at: Instant)]]>([:])
        let clock: TestClock

        init(_ clock: TestClock) { self.clock = clock }

        func answer(to request: HTTPRequest) -> HTTPResponse {
            let path = request.url.path
            let user = request.headers["Authorization"]?.split(separator: " ").last.map(String.init) ?? "nobody"
            let version = changes.withLock { changes in
                if request.method == .put {
                    let next = (changes[path]?.last?.version ?? 0) + 1
                    changes[path, default: []].append((next, clock.now))
                }
                return changes[path]?.last?.version ?? 0
            }
            let headers: HTTPHeaders = [
                "Cache-Control": "max-age=\(CacheClientWalkTests.lifetime), stale-if-error=30",
                "ETag": "\"\(user)\(version)\"",
                "Date": HTTPDate.text(clock.date), "Content-Type": "application/json",
            ]
            let isSame = request.headers["If-None-Match"] == headers["ETag"]
            let body = isSame ? Data() : Data("[\"\(user)\", \"\(version)\"]".utf8)
            return HTTPResponse(status: isSame ? 304 : 200, headers: headers, body: .bytes(body))
        }

        /// The version that was current at that instant.
        func version(of path: String, at instant: Instant) -> Int {
            changes.withLock { $0[path]?.last { $0.at <= instant }?.version ?? 0 }
        }
    }

    @Test(
        "K1, K6, K7, K11, K15: tasks that read, change, sign in and out, each in its time",
        arguments: [1, 2, 3, 4, 5, 6] as [UInt64], CacheKind.allCases)
    func walk(seed: UInt64, kind: CacheKind) async throws {
        let steps = LongRun.isWanted ? 1000 : 350
        let scratch = try Scratch()
        let clock = TestClock(seed: seed)
        let (server, network, random) = (Server(clock), scripted(), Noted(SeededRandom(seed)))
        @Sendable func chance(_ percent: Int) -> Bool {
            var result = false
            random.update { result = $0.chance(percent) }
            return result
        }
        @Sendable func int(_ range: ClosedRange<Int>) -> Int {
            var result = 0
            random.update { result = $0.int(range) }
            return result
        }
        network.onAny { request in
            // The answer is made when the request arrives, and takes its time.
            let fails = chance(10)
            let response = server.answer(to: request)
            try await clock.sleep(for: .milliseconds(int(0...3000)))
            if fails, request.method == .get { throw ServiceError.transport(TransportFailure(.reset, "scripted")) }
            return .response(response)
        }
        let tokens = TokenStore(time: clock)
        let client = testClient(network, clock) { configuration in
            configuration.cache = kind.cache(in: scratch)
            configuration.tokens = tokens
            configuration.retry = .never
        }
        let kinds = Noted<[String: Int]>([:])
        await clock.run {
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<steps {
                    try? await clock.sleep(for: .milliseconds(int(0...2000)))
                    let name = "r\(int(0...2))"
                    let path = "/\(name)"
                    switch int(0...19) {
                    case 0: await tokens.signIn(Token(accessToken: "user\(int(1...3))"))
                    case 1: await tokens.signOut()
                    case 2...3:
                        group.addTask {
                            let endpoint = Endpoint<NoContent>.put("\(name)").authentication(.none)
                            _ = try? await client.run(endpoint)
                            // Whoever reads after a change sees it, or a later one.
                            let least = server.version(of: path, at: clock.now)
                            try? await clock.sleep(for: .milliseconds(int(0...3000)))
                            let reading = Endpoint<[String]>.get("\(name)").authentication(.none)
                            guard let reply = try? await client.reply(to: reading) else { return }
                            #expect(Int(reply.value[1]) ?? -1 >= least)
                        }
                    default:
                        let isSigned = chance(70)
                        let present = tokens.presentSession
                        let user = present == nil ? nil : try? await tokens.token().accessToken
                        group.addTask {
                            let endpoint = Endpoint<[String]>.get("\(name)")
                            let start = clock.now
                            guard
                                let reply = try? await client.reply(
                                    to: endpoint.authentication(isSigned ? .required : .none))
                            else { return }
                            kinds.update { $0["\(reply.cache?.kind ?? .miss)", default: 0] += 1 }
                            if !isSigned { #expect(reply.value[0] == "nobody") }
                            if isSigned, let user, reply.session == present { #expect(reply.value[0] == user) }
                            let limit = reply.cache?.kind == .stale ? Self.lifetime + 30 : Self.lifetime
                            let oldest = start.advanced(by: .seconds(-limit - 4))
                            #expect(Int(reply.value[1]) ?? -1 >= server.version(of: path, at: oldest))
                        }
                    }
                }
            }
        }
        for kind in ["hit", "miss", "revalidated"] {
            #expect(kinds.value[kind, default: 0] > steps / 50, "\(kinds.value)")
        }
    }
}
