import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("Rate limiting")
struct RateLimitSamples {
    private func clients() -> [APIClient] {
        let limiter = RateLimiter(.requests(5, per: .seconds(1)))
        let users = APIClient("https://users.example.com") { $0.limiter = limiter }
        let posts = APIClient("https://posts.example.com") { $0.limiter = limiter }
        return [users, posts]
    }

    @Test("kinds of limits")
    func kinds() {
        let client = APIClient("https://api.example.com") {
            $0.rateLimit = .smooth(5, per: .seconds(1))  // one every 200 ms
        }
        let careful: RateLimit = .requests(5, per: .seconds(1)).margin(.milliseconds(50))
        #expect(careful.description == "5 per 1 s with a margin of 50 ms")
        let strict = APIClient("https://api.example.com") {
            $0.rateLimit = .requests(5, per: .seconds(1)).margin(.milliseconds(50))
        }
        #expect(strict.limiter.limit == careful)
        let export: Endpoint<[User]> = .friends.permits(3)  // each send takes three permits
        let snapshot = client.limiter.snapshot
        print(snapshot.available ?? .max, snapshot.waiters, snapshot.pausedUntil == nil)
        #expect(client.limiter.limit.description == "5 per 1 s, evenly spaced")
        #expect(export.options.permits == 3)
    }

    @Test("requests at once")
    func atOnce() {
        let client = APIClient("https://api.example.com") {
            $0.concurrency = .atMost(8)
        }
        #expect(client.configuration.concurrency.description == "at most 8 at once, and 1000 in the queue")
    }

    @Test("a pause that the server asked for, and its end by hand")
    func pause() {
        let client = APIClient("https://api.example.com") {
            $0.longestServerPause = .seconds(24 * 3600)  // it counts requests by the day
        }
        client.limiter.pause(until: client.configuration.time.now.advanced(by: .seconds(3600)))
        client.limiter.resume()
        #expect(client.limiter.snapshot.pausedUntil == nil)
        #expect(client.configuration.longestServerPause == .seconds(86_400))
    }

    @Test("a wait that is too long fails at once")
    func tooLong() async throws {
        let network = scripted()
        network.on(.get, "/friends") { .json("[]") }
        let clock = TestClock()
        let client = testClient(network, clock) { $0.rateLimit = .requests(1, per: .seconds(60)) }
        try await client.run(.friends)
        var printed = ""
        func show(_ users: [User]) { Issue.record("the limit was not kept") }
        func show(_ error: ServiceError) { Issue.record(error) }
        func print(_ wait: Duration) { printed = "\(wait)" }
        do {
            show(try await client.run(.friends.deadline(.seconds(5))))
        } catch .rateLimited(let limited) {
            print(limited.retryAfter ?? .zero)  // 60.0 seconds
        } catch {
            show(error)
        }
        #expect(printed == "60.0 seconds")
        #expect(clock.elapsed == .zero)
    }

    @Test("the picture: three at once, two more, four that wait")
    func picture() throws {
        var bucket = TokenBucket(.requests(5, per: .seconds(1)))
        let start = Instant.zero
        let later = start.advanced(by: .milliseconds(400))
        let (hasThree, hasTwo) = (bucket.take(3, at: start), bucket.take(2, at: later))
        #expect(hasThree && hasTwo)
        #expect(bucket.available(at: later) == 0)
        #expect(bucket.earliest(taking: 1, at: later) == start.advanced(by: .seconds(1)))
        #expect(bucket.earliest(ofLast: 4, at: later) == start.advanced(by: .milliseconds(1400)))
    }
}
