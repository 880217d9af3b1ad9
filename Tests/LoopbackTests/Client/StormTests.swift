import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

/// Everything on at once, over real connections: a cache and shared requests, cookies, sessions that are refreshed,
/// retries, connections that end, and calls that are canceled.
@Suite("A storm of calls", .timeLimit(.minutes(30))) struct StormTests {
    /// What the server knows about a request, as its response says.
    private struct Answer: Codable, Sendable, Equatable {
        var path: String
        var user: String
        var visitor: String
    }

    private static let users = ["ann", "bob", "cy", "nobody"]
    private static let (calls, tasks) = (LongRun.isWanted ? 30_000 : 1200, 24)

    /// What a user's client is given by the server: `token-ann-3` is the third token of Ann.
    private static func user(of request: LoopbackRequest) -> String {
        request.headers["Authorization"].map { String($0.split(separator: "-")[1]) } ?? "nobody"
    }

    private static func visitor(of request: LoopbackRequest) -> String {
        let pairs = request.headers["Cookie"]?.split(separator: "; ") ?? []
        return pairs.first { $0.hasPrefix("visitor=") }.map { String($0.dropFirst(8)) } ?? "none"
    }

    /// What the server has done, besides answering.
    private struct Troubles: Sendable {
        var closed = 0, unavailable = 0, refused = 0, confirmed = 0
        /// How often each token was used.
        var uses: [String: Int] = [:]

        /// Whether a token is accepted: each is, for a number of requests.
        mutating func accepts(_ token: String) -> Bool {
            uses[token, default: 0] += 1
            if uses[token, default: 0] <= 300 { return true }
            refused += 1
            return false
        }
    }

    private let troubles = Noted(Troubles())

    private func server() throws -> LoopbackServer {
        let server = try LoopbackServer()
        let number = Noted(0)
        server.onAny { [troubles] request in
            let turn = number.next()
            if turn % 97 == 0 {
                troubles.update { $0.closed += 1 }
                return .close
            }
            if turn % 31 == 0 {
                troubles.update { $0.unavailable += 1 }
                return .status(503, headers: ["Cache-Control": "max-age=60"])
            }
            if let token = request.headers["Authorization"] {
                var isAccepted = false
                troubles.update { isAccepted = $0.accepts(token) }
                if !isAccepted { return .status(401) }
            }
            if request.method == .post { return .status(204) }
            let (user, visitor) = (Self.user(of: request), Self.visitor(of: request))
            let answer = Answer(path: request.path, user: user, visitor: visitor)
            guard let body = try? JSONEncoder().encode(answer) else { return .close }
            var headers: HTTPHeaders = ["Content-Type": "application/json", "ETag": "\"\(user)-\(visitor)\""]
            if visitor == "none" { headers["Set-Cookie"] = "visitor=\(user); Path=/" }
            headers["Cache-Control"] = ["max-age=1", "no-cache", "no-store", "max-age=60"][turn % 4]
            guard request.headers["If-None-Match"] == headers["ETag"] else {
                return .status(200, headers: headers, body: body)
            }
            troubles.update { $0.confirmed += 1 }
            return .status(304, headers: headers)
        }
        return server
    }

    private func client(_ user: String, _ server: LoopbackServer, _ cache: HTTPCache) async -> APIClient {
        let number = Noted(0)
        let tokens = TokenStore { _ in Token(accessToken: "token-\(user)-\(number.next())", refreshToken: "refresh") }
        if user != "nobody" { await tokens.signIn(Token(accessToken: "token-\(user)-0", refreshToken: "refresh")) }
        return APIClient(server.baseURL) {
            if user != "nobody" { $0.tokens = tokens }
            $0.cache = cache
            $0.cookies = CookieJar()
            $0.sharesEqualRequests = true
            $0.rateLimit = .unlimited
            $0.retry = RetryPolicy(attempts: 20)
            // Real time: a busy machine must not fail the test.
            $0.timeout = .seconds(600)
        }
    }

    @Test(
        "C43, K3, K7: whatever is shared, cached, retried and canceled at once, everybody gets their own answer",
        arguments: [true, false])
    func storm(isOnDisk: Bool) async throws {
        let (server, scratch) = (try server(), try Scratch())
        let cache = isOnDisk ? HTTPCache.disk(scratch.path("cache"), megabytes: 4) : .memory(megabytes: 4)
        var clients: [(user: String, client: APIClient)] = []
        for user in Self.users { clients.append((user, await client(user, server, cache))) }
        let (wrong, answered) = (Noted<[String]>([]), Noted(0))
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<Self.tasks {
                group.addTask { [clients] in
                    var random = SeededRandom(UInt64(task + 1))
                    for _ in 0..<Self.calls / Self.tasks {
                        let (user, client) = clients[random.int(0...clients.count - 1)]
                        let path = "p\(random.int(0...9))"
                        if random.chance(40) {
                            // What is stored of the path is removed for everybody.
                            _ = try? await client.run(Endpoint<NoContent>.post("\(path)"))
                            continue
                        }
                        let call = Task { try await client.run(Endpoint<Answer>.get("\(path)").tags(user)) }
                        if random.chance(5) { call.cancel() }
                        switch await call.result {
                        case .success(let answer):
                            _ = answered.next()
                            let isOwn = answer.visitor == "none" || answer.visitor == user
                            if answer.user != user || answer.path != "/\(path)" || !isOwn {
                                wrong.update { $0.append("\(user) asked for \(path), and got \(answer)") }
                            }
                        case .failure(ServiceError.cancelled): break
                        case .failure(let error): wrong.update { $0.append("\(user): \(error)") }
                        }
                        if random.chance(2) { await cache.invalidate(tag: user) }
                    }
                }
            }
        }
        #expect(wrong.value.isEmpty, "\(wrong.value.prefix(5))")
        #expect(answered.value > Self.calls / 3)
        let (seen, statistics) = (troubles.value, cache.statistics)
        #expect(seen.closed > 5 && seen.unavailable > 15 && seen.confirmed > 0, "\(seen)")
        if LongRun.isWanted { #expect(seen.refused > 5, "\(seen)") }
        #expect(statistics.hits > 0 && statistics.revalidated > 0)
        for (_, client) in clients { await client.shutdown() }
    }
}

extension Noted<Int> {
    fileprivate func next() -> Int {
        var now = 0
        update { value in
            value += 1
            now = value
        }
        return now
    }
}
