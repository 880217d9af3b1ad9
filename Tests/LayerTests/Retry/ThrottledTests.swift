import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("Limits that a server reports with 403, and statuses of the user's choice")
struct ThrottledTests {
    @Test(
        "a 403 that its headers make a limit is waited for like a 429",
        arguments: [["Retry-After": "30"], ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "30"]] as [HTTPHeaders])
    func waited(headers: HTTPHeaders) async throws {
        let (clock, network) = (TestClock(), scripted())
        network.on(.get, "/x") {
            ScriptedReply.status(403, headers: headers)
            ScriptedReply.json("1")
        }
        let client = testClient(network, clock)
        try await clock.run { let _: Int = try await client.run(.get("x")) }
        #expect(network.sent.count == 2)
        #expect(network.sent.last.map { $0.at >= Instant.zero.advanced(by: .seconds(30)) } == true)
    }

    @Test("a call that may not wait fails with the figure")
    func failed() async throws {
        let network = scripted()
        network.onAny { .status(403, headers: ["Retry-After": "30"], body: #"{"message": "Slow down"}"#) }
        let client = testClient(network) { $0.retry = .never }
        let error = await #expect(throws: ServiceError.self) { try await client.run(.get("x")) }
        #expect(error == .rateLimited(RateLimited(retryAfter: .seconds(30), status: 403, message: "Slow down")))
        #expect(error?.isTransient == true && error?.status == 403)
    }

    private struct Problem: Decodable, Equatable, Sendable {
        let type: String
    }

    @Test("the error of a rate limit has the server's code, body and headers, and the app's own type")
    func rejection() async throws {
        let network = scripted()
        network.onAny {
            .status(
                429, headers: ["Retry-After": "30", "X-Limit": "tokens"],
                body: #"{"message": "Slow down", "code": "lock_timeout", "type": "quota"}"#)
        }
        let client = testClient(network) {
            $0.retry = .never
            $0.errorDetails = .decoding(Problem.self)
        }
        let error = try #require(await #expect(throws: ServiceError.self) { try await client.run(.get("x")) })
        guard case .rateLimited(let limited) = error else { throw error }
        #expect(limited.rejection?.code == "lock_timeout")
        #expect(error.rejection?.headers["X-Limit"] == "tokens")
        #expect(error.details(as: Problem.self) == Problem(type: "quota"))
        #expect(try error.rejection?.decodeBody(as: Problem.self) == Problem(type: "quota"))
        #expect(error.rejection?.retryAfter == .seconds(30) && error.retryAfter == .seconds(30))
        #expect(!"\(error)".contains("lock_timeout"), "only the message is shown")
        #expect(RateLimited(retryAfter: .seconds(1)).rejection == nil)
    }

    @Test(
        "any other 403 is a refusal",
        arguments: [[:], ["X-RateLimit-Remaining": "7"], ["X-RateLimit-Reset": "30"]] as [HTTPHeaders])
    func refused(headers: HTTPHeaders) async throws {
        let network = scripted()
        network.onAny { .status(403, headers: headers) }
        let error = await #expect(throws: ServiceError.self) { try await testClient(network).run(.get("x")) }
        guard case .rejected(let rejection) = error else { throw try #require(error) }
        #expect(rejection.status == 403 && network.sent.count == 1)
    }

    @Test("a policy for a status that is no error is refused, and nothing is sent", arguments: [200, 304, -1])
    func noErrors(status: Int) async throws {
        let network = scripted()
        let client = testClient(network) { $0.retry = RetryPolicy(attempts: 2, statuses: [503, status]) }
        let error = await #expect(throws: ServiceError.self) { try await client.run(.get("x")) }
        guard case .invalidRequest(let invalid) = error else { throw try #require(error) }
        #expect(invalid.subject == .configuration && invalid.reason.contains("\(status)"))
        #expect(network.sent.isEmpty)
    }

    @Test("a policy says which statuses are tried again", arguments: [(425, 3), (503, 1), (429, 1)])
    func statuses(status: Int, sends: Int) async throws {
        let (clock, network) = (TestClock(), scripted())
        network.onAny { ScriptedReply.status(status).times(sends) }
        let client = testClient(network, clock) { $0.retry = RetryPolicy(attempts: 3, statuses: [425]) }
        _ = await clock.run { await Result { () async throws(ServiceError) in try await client.run(.get("x")) } }
        #expect(network.sent.count == sends)
    }
}
