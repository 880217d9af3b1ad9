@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("Stale responses, and what is sent beside them", .timeLimit(.minutes(10))) struct CacheRefreshTests {
    private let clock = TestClock()
    private let network = scripted()
    private let cache = HTTPCache.memory(megabytes: 1)
    private let endpoint = Endpoint<[Int]>.get("x")

    private func client(_ configure: (inout Configuration) -> Void = { _ in }) -> APIClient {
        testClient(network, clock) { configuration in
            configuration.cache = cache
            configure(&configuration)
        }
    }

    private func reply(_ text: String, _ control: String) -> ScriptedReply {
        .json(text, headers: ["Cache-Control": control, "ETag": "\"\(text)\""])
    }

    @Test("K5, K12: stale-while-revalidate: at once, and one refresh beside, which is conditional")
    func whileRevalidate() async throws {
        let control = "max-age=10, stale-while-revalidate=60"
        network.on(.get, "/x", reply("[1]", control), reply("[2]", control).after(.seconds(5)))
        let client = client()
        try await clock.run {
            _ = try await client.run(endpoint)
            try await clock.sleep(for: .seconds(20))
            for _ in 0..<3 {
                let stale = try await client.reply(to: endpoint)
                #expect(stale.value == [1])
                #expect(stale.cache == CacheStatus(.stale, age: stale.cache?.age, reason: .refreshing))
                try await clock.sleep(for: .seconds(1))
            }
            #expect(network.sent.count == 2)
            #expect(network.sent.last?.request.headers["If-None-Match"] == "\"[1]\"")
            try await clock.sleep(for: .seconds(3))
            let fresh = try await client.reply(to: endpoint)
            #expect(fresh.value == [2] && fresh.cache?.kind == .hit)
        }
        try network.verify()
    }

    @Test("K5: a refresh that fails leaves what is stored, and the next call begins another")
    func failingRefresh() async throws {
        let control = "max-age=10, stale-while-revalidate=600"
        network.on(.get, "/x", reply("[1]", control), .failure(.reset), .failure(.reset), reply("[3]", control))
        let client = client { $0.retry = .never }
        try await clock.run {
            _ = try await client.run(endpoint)
            for seconds in [20, 1, 1] {
                try await clock.sleep(for: .seconds(seconds))
                #expect(try await client.run(endpoint) == [1])
            }
            try await clock.sleep(for: .seconds(1))
            #expect(try await client.run(endpoint) == [3])
        }
        try network.verify()
    }

    @Test("K5: a refresh ends with the client's shutdown, which waits for that")
    func shutdown() async throws {
        let control = "max-age=10, stale-while-revalidate=600"
        network.on(.get, "/x", reply("[1]", control), reply("[2]", control).after(.seconds(500)))
        let client = client()
        try await clock.run {
            _ = try await client.run(endpoint)
            try await clock.sleep(for: .seconds(20))
            _ = try await client.run(endpoint)
            try await clock.sleep(for: .seconds(1))
            #expect(network.sent.count == 2)
            client.cancelAll()
            await client.shutdown()
            #expect(clock.elapsed == .seconds(21) && clock.alarmCount == 0)
        }
        // The refresh has been given back: another client may begin the refresh again.
        #expect(cache.beginRefresh(of: CacheKey(resource: .url(CacheSample.url), partition: .everybody)))
    }

    @Test("K12: a client that is shutting down begins no refresh, and another one with the same cache can begin it")
    func shuttingDown() async throws {
        network.on(
            .get, "/x", reply("[1]", "max-age=10, stale-if-error=600"), .failure(.reset).after(.seconds(5)),
            reply("[2]", "max-age=60"))
        let (first, second) = (client(), client())
        try await clock.run {
            _ = try await first.run(endpoint)
            try await clock.sleep(for: .seconds(20))
            async let stale = first.run(endpoint)
            try await clock.sleep(for: .seconds(1))
            await first.shutdown(within: .seconds(60))
            #expect(try await stale == [1])
            #expect(clock.elapsed == .seconds(25) && network.sent.count == 2)
            #expect(try await second.run(endpoint.cache(.staleUpTo(.seconds(100)))) == [1])
            try await clock.sleep(for: .seconds(1))
            #expect(network.sent.count == 3)
            #expect(try await second.reply(to: endpoint).cache?.kind == .hit)
        }
        try network.verify()
    }

    @Test(
        "K5: stale-if-error: at once when the first attempt fails, and the retries continue beside",
        arguments: [ScriptedReply.failure(.reset), .status(503), .status(500)])
    func ifError(failure: ScriptedReply) async throws {
        let control = "max-age=10, stale-if-error=600"
        network.on(.get, "/x", reply("[1]", control), failure, reply("[2]", control))
        let client = client()
        try await clock.run {
            _ = try await client.run(endpoint)
            try await clock.sleep(for: .seconds(20))
            let stale = try await client.reply(to: endpoint)
            #expect(stale.value == [1] && stale.cache?.reason == .serverFailed && clock.elapsed == .seconds(20))
            #expect(network.sent.count == 2)
            try await clock.sleep(for: .seconds(10))
            #expect(network.sent.count == 3)
            let pause = network.sent[1].at.duration(to: network.sent[2].at)
            #expect(pause > .zero)
            #expect(try await client.run(endpoint) == [2])
        }
        try network.verify()
    }

    @Test(
        "K5: must-revalidate and no-cache beat stale-if-error; so does a lifetime that is over",
        arguments: [
            "max-age=10, stale-if-error=600, must-revalidate", "max-age=10, stale-if-error=600, no-cache",
            "max-age=10, stale-if-error=5",
        ])
    func strict(control: String) async throws {
        network.on(.get, "/x", reply("[1]", control), .failure(.reset))
        let client = client { $0.retry = .never }
        try await clock.run {
            _ = try await client.run(endpoint)
            try await clock.sleep(for: .seconds(20))
            await #expect(throws: ServiceError.self) { try await client.run(endpoint) }
        }
    }

    @Test("K5: without a network, a call has its stale value; a call that is canceled has none")
    func offline() async throws {
        network.on(.get, "/x", reply("[1]", "max-age=10, stale-if-error=600"), .silence)
        let isOnline = Noted(true)
        let client = client { $0.connectivity = Connectivity { isOnline.value } }
        try await clock.run {
            _ = try await client.run(endpoint)
            try await clock.sleep(for: .seconds(20))
            isOnline.value = false
            #expect(try await client.reply(to: endpoint).cache?.reason == .serverFailed)
            try await clock.sleep(for: .seconds(60))
            isOnline.value = true
            async let outcome = Result { () async throws(ServiceError) in try await client.run(endpoint) }
            try await clock.sleep(for: .seconds(1))
            client.cancelAll()
            #expect(await outcome == .failure(.cancelled))
        }
    }

    @Test("K11: what a change has removed in the meantime is not served when the server fails")
    func removedMeanwhile() async throws {
        network.on(.get, "/x", reply("[1]", "max-age=10, stale-if-error=600"), .failure(.reset).after(.seconds(5)))
        network.on(.put, "/x", .status(204))
        let client = client { $0.retry = .never }
        try await clock.run {
            _ = try await client.run(endpoint)
            try await clock.sleep(for: .seconds(20))
            async let outcome = Result { () async throws(ServiceError) in try await client.run(endpoint) }
            try await clock.sleep(for: .seconds(1))
            try await client.run(Endpoint<NoContent>.put("x"))
            let isFailure = if case .failure(.transport) = await outcome { true } else { false }
            #expect(isFailure)
        }
    }

    @Test("networkFirst: a refused token is replaced once, beside the call; a request that may not be sent is not")
    func networkFirstSigned() async throws {
        network.on(.get, "/x", reply("[1]", "max-age=10"), .status(401).times(2))
        let refreshes = Noted(0)
        let tokens = TokenStore(time: clock) { [clock] _ in
            refreshes.value += 1
            return Token(accessToken: "next", expiry: clock.date.addingTimeInterval(1000))
        }
        await tokens.signIn(Token(accessToken: "first"))
        let client = client { $0.tokens = tokens }
        let hasty = endpoint.cache(.networkFirst(within: .seconds(2)))
        try await clock.run {
            _ = try await client.run(endpoint)
            try await clock.sleep(for: .seconds(60))
            await #expect(throws: ServiceError.self) { try await client.run(hasty) }
            #expect(refreshes.value == 1 && network.sent.count == 3)
            let local = hasty.header("Cache-Control", "only-if-cached")
            await #expect(throws: ServiceError.self) { try await client.run(local) }
            #expect(network.sent.count == 3)
        }
    }

    @Test("K5: an error that is not the server's is not hidden by what is stored")
    func otherErrors() async throws {
        network.on(.get, "/x", reply("[1]", "max-age=10, stale-if-error=600"))
        let refusing = Noted(false)
        let client = client { $0.attemptMiddlewares = [Refusing(isOn: refusing)] }
        _ = try await client.run(endpoint)
        await clock.advance(by: .seconds(20))
        refusing.value = true
        await #expect(throws: ServiceError.signInRequired) { try await client.run(endpoint) }
    }

    private struct Refusing: Middleware {
        let isOn: Noted<Bool>

        func intercept(_ request: HTTPRequest, _ context: CallContext, next: Next) async throws -> HTTPResponse {
            if isOn.value { throw ServiceError.signInRequired }
            return try await next(request, context)
        }
    }

    @Test("K5: a call that accepts a stale value has it at once, and it is refreshed beside")
    func accepted() async throws {
        network.on(.get, "/x", reply("[1]", "max-age=10"), reply("[2]", "max-age=10"))
        let client = client()
        try await clock.run {
            _ = try await client.run(endpoint)
            try await clock.sleep(for: .seconds(60))
            let patient = endpoint.cache(.staleUpTo(.seconds(100)))
            #expect(try await client.reply(to: patient).cache?.reason == .accepted)
            try await clock.sleep(for: .seconds(1))
            #expect(try await client.run(patient) == [2])
        }
        try network.verify()
    }

    @Test(
        "networkFirst: the answer if it comes in time, else what is stored, and the late answer is stored",
        arguments: [(1, [2], nil), (5, [1], CacheStatus.Reason.serverIsSlow)])
    func networkFirst(delay: Int, expected: [Int], reason: CacheStatus.Reason?) async throws {
        network.on(.get, "/x", reply("[1]", "max-age=10"), reply("[2]", "max-age=1000").after(.seconds(delay)))
        let client = client()
        try await clock.run {
            _ = try await client.run(endpoint)
            try await clock.sleep(for: .seconds(60))
            let hasty = endpoint.cache(.networkFirst(within: .seconds(2)))
            let reply = try await client.reply(to: hasty)
            #expect(reply.value == expected && reply.cache?.reason == reason)
            #expect(clock.elapsed == .seconds(60 + min(delay, 2)))
            try await clock.sleep(for: .seconds(10))
            #expect(try await client.run(endpoint) == [2])
        }
        #expect(network.sent.count == 2)
    }

    @Test("networkFirst: a failure is answered with what is stored, without anything stored it is an error")
    func networkFirstFails() async throws {
        network.on(.get, "/x", .failure(.reset), reply("[1]", "max-age=10"), .failure(.reset))
        let client = client { $0.retry = .never }
        let hasty = endpoint.cache(.networkFirst(within: .seconds(2)))
        try await clock.run {
            await #expect(throws: ServiceError.self) { try await client.run(hasty) }
            _ = try await client.run(hasty)
            try await clock.sleep(for: .seconds(60))
            #expect(try await client.reply(to: hasty).cache?.reason == .serverFailed)
        }
        try network.verify()
    }

    @Test(
        "networkFirst: what has neither a lifetime nor a validator is stored for it, unless the server is against it",
        arguments: [("", [1]), ("no-store", nil), ("max-age=0, must-revalidate", nil)] as [(String, [Int]?)])
    func networkFirstPlain(control: String, expected: [Int]?) async throws {
        let headers: HTTPHeaders = control.isEmpty ? [:] : ["Cache-Control": control]
        network.on(.get, "/x", .json("[1]", headers: headers), .failure(.reset))
        let client = client { $0.retry = .never }
        let hasty = endpoint.cache(.networkFirst(within: .seconds(2)))
        try await clock.run {
            _ = try await client.run(hasty)
            try await clock.sleep(for: .seconds(60))
            let value = try? await client.run(hasty)
            #expect(value == expected)
        }
        try network.verify()
    }

    @Test("C90: networkFirst: an error hides the secrets that were sent beside the call, and counts those attempts")
    func networkFirstErrors() async throws {
        let echo = ScriptedReply.json(#"{"message": "no friend of hunter2-hunter2"}"#, status: 400)
        network.on(
            .get, "/x", reply("[1]", "max-age=10"), .status(503), echo, .status(503), reply("[2]", "max-age=10"))
        let tokens = TokenStore(time: clock)
        await tokens.signIn(Token(accessToken: "hunter2-hunter2"))
        let client = client { $0.tokens = tokens }
        let hasty = endpoint.cache(.networkFirst(within: .seconds(100)))
        try await clock.run {
            _ = try await client.run(endpoint)
            try await clock.sleep(for: .seconds(60))
            let outcome = await Result { () async throws(ServiceError) in try await client.run(hasty) }
            let error = try #require(outcome.failure)
            #expect(error.status == 400 && !error.localizedDescription.contains("hunter2"))
            #expect(!"\(error)".contains("hunter2") && "\(error)".contains("after 2 attempts"))
            let reply = try await client.reply(to: hasty)
            #expect(reply.value == [2] && reply.attempts == 2)
        }
        try network.verify()
    }

    @Test("networkFirst: when nothing is left to use, the call sends for itself, and counts its own attempts")
    func networkFirstAlone() async throws {
        network.on(
            .get, "/x", reply("[1]", "max-age=10"), .failure(.reset), reply("[2]", "max-age=10").after(.seconds(25)),
            reply("[3]", "max-age=10"))
        let client = client()
        try await clock.run {
            _ = try await client.run(endpoint)
            try await clock.sleep(for: .seconds(60))
            async let reply = client.reply(to: endpoint.cache(.networkFirst(within: .seconds(10))))
            try await clock.sleep(for: .seconds(5))
            #expect(network.sent.count == 3)
            await cache.removeAll()
            let own = try await reply
            #expect(own.value == [3] && own.attempts == 1 && clock.elapsed == .seconds(70))
            try await clock.sleep(for: .seconds(60))
        }
        try network.verify()
    }

    @Test("K12: networkFirst waits no longer when what it may use is being refreshed already")
    func networkFirstBesideRefresh() async throws {
        let slow = reply("[2]", "max-age=10").after(.seconds(20))
        network.on(.get, "/x", reply("[1]", "max-age=10"), slow, slow)
        let client = client()
        try await clock.run {
            _ = try await client.run(endpoint)
            try await clock.sleep(for: .seconds(60))
            #expect(try await client.run(endpoint.cache(.staleUpTo(.seconds(100)))) == [1])
            #expect(try await client.run(endpoint.cache(.networkFirst(within: .seconds(2)))) == [1])
            #expect(clock.elapsed == .seconds(62))
            try await clock.sleep(for: .seconds(30))
        }
        try network.verify()
    }

    @Test("K12: a leader that is canceled holds nobody up, and its refresh is given back")
    func canceledLeader() async throws {
        network.on(.get, "/x", reply("[1]", "max-age=10"), reply("[2]", "max-age=100").after(.seconds(20)))
        let client = client()
        try await clock.run {
            _ = try await client.run(endpoint)
            try await clock.sleep(for: .seconds(60))
            let hasty = endpoint.cache(.networkFirst(within: .seconds(20)))
            async let first = Result { () async throws(ServiceError) in try await client.run(hasty) }
            try await clock.sleep(for: .seconds(1))
            client.cancelAll()
            #expect(await first == .failure(.cancelled))
            let patient = endpoint.cache(.staleUpTo(.seconds(100)))
            #expect(try await client.run(patient) == [1])
            try await clock.sleep(for: .seconds(35))
            // The twenty seconds until its answer count as age.
            #expect(try await client.reply(to: patient).cache == CacheStatus(.hit, age: .seconds(36)))
            #expect(network.sent.count == 2)
        }
    }
}
