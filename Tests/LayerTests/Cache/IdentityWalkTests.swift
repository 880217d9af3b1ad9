@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

/// A walk over stacks of middleware that sign, add an identity, replace a token, lead to another origin or add a trace,
/// with a cache, shared requests, cookies and sessions, by two users.
///
/// The server answers with what it knows about who asks. A model, which knows nothing of layers, says what it has to
/// know about each call: a call that is given anything else was given what is another's.
@Suite("Whatever middleware does, nobody is given what is another's", .timeLimit(.minutes(10)))
struct IdentityWalkTests {
    /// What a middleware of the walk does.
    private enum Step: CaseIterable {
        case sign, addIdentity, replaceToken, leave, trace
    }

    /// What a server knows about who asks.
    private struct Known: CustomStringConvertible {
        var host = "api.test"
        var authorization: String?
        var user: String?
        var cookie: String?

        init() {}

        init(_ request: HTTPRequest) {
            host = request.url.origin.host
            authorization = request.headers["Authorization"]
            user = request.headers["X-User-Id"]
            cookie = request.headers["Cookie"]
        }

        mutating func apply(_ step: Step, for caller: String) {
            switch step {
            case .trace: break
            case .leave:
                self = Known()
                host = "evil.test"
            // Each looks first whether the request has left its origin.
            case .sign where host == "api.test": authorization = "Bearer \(caller)"
            case .replaceToken where host == "api.test": authorization = "Bearer on behalf of \(caller)"
            case .addIdentity where host == "api.test": user = caller
            default: break
            }
        }

        var description: String { "\(host), \(authorization ?? "-"), \(user ?? "-"), \(cookie ?? "-")" }
    }

    private struct Stepping: Middleware {
        let step: Step
        let number = Noted(0)

        func intercept(_ request: HTTPRequest, _ context: CallContext, next: Next) async throws -> HTTPResponse {
            var request = request
            let caller = Caller.name ?? "nobody"
            switch step {
            case .trace:
                number.update { $0 += 1 }
                request.headers["X-Request-Id"] = "\(number.value)"
                request.headers["traceparent"] = "00-\(number.value)-1-00"
            case .leave: request.url = try HTTPURL("https://evil.test\(request.url.target)")
            case .sign where !context.hasLeftOrigin: request.headers["Authorization"] = "Bearer \(caller)"
            case .replaceToken where !context.hasLeftOrigin:
                request.headers["Authorization"] = "Bearer on behalf of \(caller)"
            case .addIdentity where !context.hasLeftOrigin: request.headers["X-User-Id"] = caller
            default: break
            }
            return try await next(request, context)
        }
    }

    /// What is random about one run.
    private struct Plan {
        var calls: [Step]
        var attempts: [Step]
        let hasTokens: Bool
        let hasCookies: Bool
        let hasCache: Bool
        let isShared: Bool
        /// When each call begins, by which client, for which user, and what it asks for.
        let steps: [(pause: Int, client: Int, caller: String, path: String)]

        init(_ seed: UInt64) {
            var random = SeededRandom(seed)
            func stack(_ random: inout SeededRandom) -> [Step] {
                (0..<random.int(0...3)).map { _ in Step.allCases[random.int(0...Step.allCases.count - 1)] }
            }
            calls = stack(&random)
            attempts = stack(&random)
            (hasTokens, hasCookies) = (random.chance(60), random.chance(50))
            (hasCache, isShared) = (random.chance(70), random.chance(70))
            steps = (0..<60).map { _ in
                (
                    random.int(0...3000), random.int(0...1), random.chance(50) ? "ann" : "ben", "r\(random.int(0...1))"
                )
            }
        }
    }

    /// Plays a plan. Returns how many requests were sent.
    private func play(_ plan: Plan, seed: UInt64) async throws -> Int {
        let clock = TestClock(seed: seed)
        let network = scripted()
        let cache = HTTPCache.memory(megabytes: 1)
        network.onAny { request in
            let body = Data("\"\(Known(request))\"".utf8)
            try await clock.sleep(for: .milliseconds(1500))
            return .status(
                200, headers: ["Content-Type": "application/json", "Cache-Control": "max-age=10"], body: body)
        }
        var clients: [APIClient] = []
        for number in 0...1 {
            let (tokens, jar) = (TokenStore(time: clock), CookieJar())
            await tokens.signIn(Token(accessToken: "of client \(number)"))
            try jar.insert([Cookie("sid", "\(number)", domain: "api.test")])
            clients.append(
                testClient(network, clock) {
                    $0.callMiddlewares = plan.calls.map { Stepping(step: $0) }
                    $0.attemptMiddlewares = plan.attempts.map { Stepping(step: $0) }
                    if plan.hasTokens { $0.tokens = tokens }
                    if plan.hasCookies { $0.cookies = jar }
                    if plan.hasCache { $0.cache = cache }
                    $0.sharesEqualRequests = plan.isShared
                })
        }
        let all = clients
        try await clock.run {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for step in plan.steps {
                    try await clock.sleep(for: .milliseconds(step.pause))
                    group.addTask {
                        let value = try await Caller.$name.withValue(step.caller) {
                            try await all[step.client].run(Endpoint<String>.get("\(step.path)"))
                        }
                        #expect(value == "\(expected(of: plan, step.client, step.caller))", "\(plan)")
                    }
                }
                try await group.waitForAll()
            }
        }
        return network.sent.count
    }

    /// What the server has to know about a call.
    private func expected(of plan: Plan, _ client: Int, _ caller: String) -> Known {
        var known = Known()
        for step in plan.calls { known.apply(step, for: caller) }
        if known.host == "api.test" {
            if plan.hasTokens, known.authorization == nil { known.authorization = "Bearer of client \(client)" }
            if plan.hasCookies { known.cookie = "sid=\(client)" }
        }
        for step in plan.attempts { known.apply(step, for: caller) }
        return known
    }

    private static let seeds: ClosedRange<UInt64> = 1...(LongRun.isWanted ? 2000 : 120)

    @Test("K7, K8, C64: two users, and stacks of middleware that change who they are")
    func walk() async throws {
        for seed in Self.seeds { _ = try await play(Plan(seed), seed: seed) }
    }

    @Test("K7, K8: a stack that adds only a trace answers as many calls without a send as none")
    func traces() async throws {
        var sends = 0
        for seed in Self.seeds.prefix(40) {
            var plan = Plan(seed)
            plan.attempts = []
            let usual = try await play(plan, seed: seed)
            plan.attempts = [.trace]
            #expect(try await play(plan, seed: seed) == usual)
            sends += usual
        }
        // Some of the plans have a cache or share, so that there is something to lose.
        #expect(sends < 40 * 60)
    }
}
