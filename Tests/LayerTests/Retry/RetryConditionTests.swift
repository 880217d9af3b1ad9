import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("A closure that decides which attempts are repeated")
struct RetryConditionTests {
    private let asked = Noted<[FailedAttempt]>([])

    /// Returns how many attempts a call makes if every attempt ends in this way.
    private func attempts(
        _ method: HTTPMethod, _ reply: ScriptedReply, most: Int = 3,
        _ condition: @escaping @Sendable (FailedAttempt) -> Bool
    ) async -> Int {
        let (clock, network) = (TestClock(), scripted())
        network.onAny { reply.always }
        let asked = asked
        let client = testClient(network, clock) {
            $0.retry = RetryPolicy(attempts: most).retrying { attempt in
                asked.update { $0.append(attempt) }
                return condition(attempt)
            }
        }
        await clock.run {
            await #expect(throws: ServiceError.self) { try await client.run(Endpoint<NoContent>(method, "x")) }
        }
        return network.sent.count
    }

    @Test("it adds a status, and sees the response")
    func adding() async {
        let reply = ScriptedReply.status(409, headers: ["X-Why": "locked"], body: "busy")
        #expect(await attempts(.get, reply) { $0.status == 409 } == 3)
        // No attempt is left after the third.
        #expect(asked.value.map(\.number) == [1, 2])
        #expect(asked.value.first?.headers["X-Why"] == "locked")
        #expect(asked.value.first?.body == Data("busy".utf8))
        #expect(asked.value.first?.isTransient == false)
        #expect(asked.value.first?.error == nil)
    }

    @Test("it refuses what the policy would repeat: a status, and a failure of the connection")
    func refusing() async {
        #expect(await attempts(.get, .status(503)) { !$0.isTransient } == 1)
        #expect(await attempts(.get, .failure(.reset)) { !$0.isTransient } == 1)
        #expect(asked.value.last?.status == nil)
        guard case .transport(let failure) = asked.value.last?.error else {
            Issue.record("\(asked.value)")
            return
        }
        #expect(failure.kind == .reset)
    }

    @Test(
        "C13: a server that says whether to retry decides instead of the statuses, where that is safe",
        arguments: [
            (.get, 503, "false", 1), (.get, 409, "true", 3), (.get, 409, "TRUE ", 3), (.get, 409, "yes", 1),
            (.get, 503, "", 3), (.post, 409, "true", 1),
        ] as [(HTTPMethod, Int, String, Int)])
    func asked(method: HTTPMethod, status: Int, text: String, count: Int) async {
        let (clock, network) = (TestClock(), scripted())
        network.onAny { ScriptedReply.status(status, headers: ["x-should-retry": text]).always }
        let client = testClient(network, clock)
        await clock.run {
            await #expect(throws: ServiceError.self) { try await client.run(Endpoint<NoContent>(method, "x")) }
        }
        #expect(network.sent.count == count)
    }

    @Test("C14: a closure may say after which pause an attempt is repeated, and is told the usual one")
    func pauses() async {
        let (clock, network) = (TestClock(seed: 3), scripted())
        network.onAny {
            ScriptedReply.status(409)
            ScriptedReply.status(503, headers: ["Retry-After": "90"])
            ScriptedReply.failure(.reset)
            ScriptedReply.status(404)
        }
        let usual = Noted<[Duration]>([])
        let client = testClient(network, clock) {
            $0.retry = RetryPolicy(attempts: 9).retrying(after: { attempt in
                usual.update { $0.append(attempt.pause) }
                switch attempt.number {
                case 1: return .seconds(7)
                case 2: return .zero - .seconds(1)
                case 3: return attempt.pause
                default: return nil
                }
            })
            $0.longestServerPause = .zero
        }
        await clock.run {
            await #expect(throws: ServiceError.self) { try await client.run(Endpoint<NoContent>.get("x")) }
        }
        let last = Instant.zero.advanced(by: .seconds(7))
        #expect(network.sent.map(\.at) == [.zero, last, last, last.advanced(by: usual.value[2])])
        #expect(usual.value.count == 4 && usual.value[1] == .seconds(90) && usual.value[2] > .zero)
    }

    @Test("C17: a pause that a closure asks for beyond the deadline fails the call at once")
    func pauseBeyondDeadline() async {
        let (clock, network) = (TestClock(), scripted())
        network.onAny { ScriptedReply.status(503) }
        let client = testClient(network, clock) {
            $0.retry = .standard.retrying(after: { _ in .seconds(60) })
            $0.deadline = .seconds(10)
        }
        await clock.run {
            await #expect(throws: ServiceError.self) { try await client.run(Endpoint<NoContent>.get("x")) }
        }
        #expect(clock.elapsed == .zero)
    }

    @Test("it is not asked where another attempt is not safe, or can never succeed")
    func unsafe() async {
        #expect(await attempts(.post, .status(503)) { _ in true } == 1)
        #expect(await attempts(.get, .failure(.untrustedCertificate)) { _ in true } == 1)
        #expect(await attempts(.get, .status(503), most: 1) { _ in true } == 1)
        #expect(asked.value.isEmpty)
    }

    @Test("after such a status, a call waits as long as the server asks")
    func waiting() async throws {
        let (clock, network) = (TestClock(), scripted())
        network.on(.get, "/x", .status(409, headers: ["Retry-After": "7"]), .status(204))
        let client = testClient(network, clock)
        let endpoint = Endpoint<NoContent>.get("x").retry(RetryPolicy.standard.retrying { $0.status == 409 })
        try await clock.run { _ = try await client.run(endpoint) }
        #expect(network.sent.last?.at == .ms(7000))
    }

    @Test("its description shows no headers and no body")
    func description() {
        let attempt = FailedAttempt(
            number: 2, status: 503, headers: ["X": "hunter2"], body: Data("hunter2".utf8), isTransient: true)
        #expect("\(attempt)" == "attempt 2: status 503")
        var shown = ""
        dump(attempt, to: &shown)
        #expect(!shown.contains("hunter2"))
    }
}
