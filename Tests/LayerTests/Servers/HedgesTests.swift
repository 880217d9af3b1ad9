@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("When a request is repeated, and how often") struct HedgesTests {
    @Test("B11: a failure pays for nothing, and a repetition that wins pays once")
    func payment() {
        var hedges = Hedges(HedgingPolicy.Limits(delay: .fixed(.zero), budget: 0.25))
        for _ in 0..<10 {
            let isPaid = hedges.spend()
            #expect(isPaid)
        }
        #expect(!hedges.spend() && hedges.delay(of: 1) == nil)
        for _ in 0..<4 { hedges.earn() }
        #expect(hedges.budget == 1 && hedges.delay(of: 1) == .zero)
    }

    @Test("B9: a sketch knows a percentile to an eighth, and forgets slowly", arguments: 0..<20)
    func sketch(seed: UInt64) throws {
        var random = SeededRandom(seed)
        var sketch = LatencySketch()
        let latencies = (0..<1000).map { _ in Duration.microseconds(random.int(100...2_000_000)) }
        for latency in latencies { sketch.add(latency) }
        for share in [0.5, 0.9, 0.95, 0.99] {
            let exact = latencies.sorted()[Int(share * 1000) - 1]
            let found = try #require(sketch.duration(ofShare: share))
            #expect(found >= exact && found <= exact * 1.13, "\(found) for \(exact)")
        }
        for _ in 0..<20_000 { sketch.add(.milliseconds(1)) }
        #expect(try #require(sketch.duration(ofShare: 0.99)) < .milliseconds(2))
        // The ends of the range.
        for latency in [Duration.zero, .seconds(-1), .seconds(1_000_000_000), .nanoseconds(1)] { sketch.add(latency) }
    }

    @Test("B9: a thousand endpoints are told apart at a time")
    func manyEndpoints() {
        var hedges = Hedges(HedgingPolicy.Limits(delay: .percentile(95), budget: 0))
        for endpoint in 0..<5000 { for _ in 0..<20 { hedges.note(.milliseconds(1), of: endpoint) } }
        #expect((0..<5000).count { hedges.delay(of: $0) != nil } == Hedges.mostEndpoints)
    }

    @Test("B9: interpolated values of a path count as equal, and nothing else does")
    func patterns() {
        func hash(_ path: EndpointPath) -> Int {
            var hasher = Hasher()
            path.hashPattern(into: &hasher)
            return hasher.finalize()
        }
        let user: EndpointPath = "users/\(7)"
        #expect(hash("users/\(1)/friends") == hash("users/\("x y")/friends"))
        #expect(hash("users/\(1)") != hash("groups/\(1)") && hash("users/1") != hash("users/2"))
        #expect(hash("\(user)/friends") == hash("users/\(8)/friends"))
        #expect(hash("a/\(user)") == hash("a/users/\(9)") && hash("a-\(1)") == hash("a-\(2)"))
        #expect("users/\(7)" as EndpointPath == "users/7")
        // What is known only when the program runs may be the name of the endpoint.
        let parts = ["users", "reports"].map { EndpointPath(segments: [$0, "7"]) }
        #expect(hash(parts[0]) != hash(parts[1]))
        #expect(hash("/users/\(1)/a/") == hash("/users/\(2)/a/") && hash("/users/\(1)") != hash("/users/a/\(1)"))
        let rooted: EndpointPath = "/\(7)/x"
        #expect(hash("a/\(rooted)") == hash("a/\(8)/x") && hash("a\(rooted)") == hash("a/\(8)/x"))
        #expect(hash("x-\(user)") == hash("x-users/\(8)") && hash("x-\(user)") != hash("y-\(user)"))
    }
}
