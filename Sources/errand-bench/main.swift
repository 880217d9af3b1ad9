@testable import Errand
import ErrandTesting
import FoundationEssentials

@concurrent func measure(_ name: String, _ body: () async throws -> Void) async throws {
    let n = 20_000
    try await body()
    var best = Duration.seconds(100)
    for _ in 0..<3 {
        let t = try await ContinuousClock().measure { for _ in 0..<n { try await body() } }
        best = min(best, t / n)
    }
    print(name, best)
}
@concurrent func go() async throws {
    func make(_ f: (inout Configuration) -> Void) -> APIClient {
        let network = ScriptedTransport()
        network.onAny { ScriptedReply.json("1").always }
        var c = Configuration(ServerEnvironment("x", "https://api.test"))
        c.transport = network
        c.rateLimit = .unlimited
        f(&c)
        return APIClient(c)
    }
    let store = TokenStore { $0 }
    await store.signIn(Token(access: "a", expiry: Date(timeIntervalSinceNow: 100000)))
    let e = Endpoint<NoContent>.get("x")
    let leash: @Sendable () async throws(ServiceError) -> Int = { 1 }
    try await measure("leash") { _ = try await Leash().run(leash) }
    try await measure("leash until") {
        _ = try await Leash().run(
            until: SystemTime.shared.now.advanced(by: .seconds(10)), of: SystemTime.shared, else: { .cancelled }, leash)
    }
    let plain = make { $0.timeout = .seconds(1 << 62) }
    try await measure("no timeout") { _ = try await plain.run(e) }
    let timed = make { _ in }
    try await measure("timeout") { _ = try await timed.run(e) }
    let dead = make { $0.deadline = .seconds(30) }
    try await measure("deadline") { _ = try await dead.run(e) }
    let limited = make { $0.rateLimit = .requests(1_000_000_000, per: .seconds(1)) }
    try await measure("limited") { _ = try await limited.run(e) }
    let signed = make { $0.tokens = store }
    try await measure("signed") { _ = try await signed.run(e) }
    let rules = plain.configuration.rules(for: e.options)
    let builder = try RequestBuilder(plain.configuration)
    try await measure("rules") { _ = plain.configuration.rules(for: e.options) }
    try await measure("build") { _ = try builder.request(for: e, rules: rules, isSigned: false) }
    let request = try builder.request(for: e, rules: rules, isSigned: false)
    try await measure("syntax") { _ = try HTTPSyntax.check(request) }
    let n = ScriptedTransport(); n.onAny { ScriptedReply.json("1").always }
    try await measure("bare") { _ = try await n.send(request, context: TransportContext()) }
    let lim = RateLimiter(.requests(1_000_000_000, per: .seconds(1)))
    try await measure("limiter") { _ = try await lim.acquire() }
    let time: any TimeSource = SystemTime.shared
    try await measure("now") { _ = time.now }
    try await measure("call") { _ = Call(id: 1, method: .get, path: "x", rules: rules, time: time, events: EventHub()) }
    try await measure("path") { _ = try (e.path).resolved(below: "") }
    let judge = Judge(
        decoder: JSONDecoder(), acceptedContentTypes: plain.configuration.acceptedContentTypes, time: time)
    let resp = HTTPResponse(status: 200, headers: ["Content-Type": "application/json"], body: .bytes(Data("1".utf8)))
    try await measure("judge") { _ = try judge.value(NoContent.self, below: [], in: resp, hiding: []) }
    try await measure("pacing") { _ = ServerPacing.pause(after: resp, date: Date()) }
    let c = Call(id: 1, method: .get, path: "x", rules: rules, time: time, events: EventHub())
    let ctx = CallContext(call: c)
    let trivial: Next = { (_: HTTPRequest, _: CallContext) async throws(ServiceError) -> HTTPResponse in resp }
    let l2 = RateLimiter(.unlimited)
    try await measure("send trivial") { _ = try await trivial(request, ctx) }
    for (name, layers) in [
        ("none", []), ("retry", [Retry(quota: RetryQuota())]),
        ("online", [OnlineCheck(connectivity: .always, rule: .fail)]), ("ratelim", [RateLimiting(limiter: l2)]),
        ("redirects", [Redirects(limiter: l2, secretHeaders: [])]),
        (
            "all",
            [
                Retry(quota: RetryQuota()), OnlineCheck(connectivity: .always, rule: .fail), RateLimiting(limiter: l2),
                Redirects(limiter: l2, secretHeaders: []),
            ]
        ),
    ] as [(String, [any Layer])] {
        let next = Pipeline.folding(perCall: [], layers: layers, perAttempt: [], into: trivial)
        try await measure("layers \(name)") { _ = try await next(request, ctx) }
    }
    let sender = Sender(transport: n, limiter: l2, origin: request.url.origin, bodyLimit: 1000, allowsCleartext: false)
    try await measure("sender") { _ = try await sender.send(request, ctx) }
}
try await go()
