@testable import Errand
import ErrandTestSupport
import Testing

/// A bucket as a reference type, so that an expectation can take from it.
private final class Bucket {
    private var value: TokenBucket

    init(_ limit: RateLimit) { value = TokenBucket(limit) }

    func take(_ cost: Int, at instant: Instant) -> Bool { value.take(cost, at: instant) }
    func giveBack(_ cost: Int, takenAt instant: Instant) { value.giveBack(cost, takenAt: instant) }
    func drain(until instant: Instant) { value.drain(until: instant) }
    func available(at instant: Instant) -> Int? { value.available(at: instant) }
    func earliest(taking cost: Int, at instant: Instant) -> Instant? { value.earliest(taking: cost, at: instant) }
    func earliest(ofLast total: Int, at instant: Instant) -> Instant { value.earliest(ofLast: total, at: instant) }
}

@Suite("Token bucket") struct TokenBucketTests {
    @Test("C1: a burst empties the bucket, and each token comes back one period after it was taken")
    func burst() {
        let bucket = Bucket(.requests(5, per: .seconds(1)))
        for step in 0..<5 { #expect(bucket.take(1, at: .ms(Int64(step) * 10))) }
        #expect(!bucket.take(1, at: .ms(999)))
        #expect(bucket.earliest(taking: 1, at: .ms(50)) == .ms(1000))
        #expect(bucket.earliest(taking: 3, at: .ms(50)) == .ms(1020))
        #expect(bucket.available(at: .ms(1010)) == 2)
        #expect(bucket.take(2, at: .ms(1010)))
        #expect(bucket.available(at: .ms(1010)) == 0)
    }

    @Test("C1: a smooth limit spaces the sends evenly, by their cost")
    func smooth() {
        let bucket = Bucket(.smooth(5, per: .seconds(1)))
        #expect(bucket.take(1, at: .zero))
        #expect(bucket.available(at: .ms(199)) == 0)
        #expect(bucket.earliest(taking: 1, at: .zero) == .ms(200))
        #expect(bucket.take(2, at: .ms(200)))
        #expect(bucket.earliest(taking: 1, at: .ms(200)) == .ms(600))
    }

    @Test("C4: more than the bucket holds can never be taken")
    func tooMuch() {
        let bucket = Bucket(.all(.requests(5, per: .seconds(1)), .requests(3, per: .seconds(9))))
        #expect(bucket.earliest(taking: 4, at: .zero) == nil)
        #expect(!bucket.take(4, at: .zero))
        #expect(bucket.take(3, at: .zero))
    }

    @Test("an unlimited bucket has no number of tokens, and allows any cost")
    func unlimited() {
        let bucket = Bucket(.unlimited)
        #expect(bucket.available(at: .zero) == nil)
        #expect(bucket.take(.max, at: .zero))
        #expect(bucket.earliest(taking: .max, at: .ms(3)) == .ms(3))
    }

    @Test("returned tokens can be taken again at once, and those that others took stay taken")
    func giveBack() {
        let bucket = Bucket(.requests(3, per: .seconds(1)))
        _ = bucket.take(2, at: .zero)
        _ = bucket.take(1, at: .ms(1))
        bucket.giveBack(2, takenAt: .zero)
        #expect(bucket.available(at: .ms(1)) == 2)
        #expect(bucket.earliest(taking: 3, at: .ms(1)) == .ms(1001))
    }

    @Test("returning tokens to a smooth limit returns the slot too")
    func giveBackSlot() {
        let bucket = Bucket(.smooth(4, per: .seconds(1)))
        _ = bucket.take(1, at: .zero)
        bucket.giveBack(1, takenAt: .zero)
        #expect(bucket.earliest(taking: 1, at: .zero) == .zero)
    }

    @Test("C6: a drained bucket fills at the limit's pace, token by token")
    func drain() {
        let bucket = Bucket(.requests(5, per: .seconds(1)))
        bucket.drain(until: .ms(3000))
        #expect(bucket.available(at: .ms(2999)) == 0)
        for step in 0..<5 {
            let due = Instant.ms(3000 + Int64(step) * 200)
            #expect(bucket.earliest(taking: 1, at: .ms(2000)) == due)
            #expect(bucket.take(1, at: due))
        }
    }

    @Test("C6: a drain does not bring earlier tokens back sooner")
    func drainKeepsWindows() {
        let bucket = Bucket(.requests(2, per: .seconds(10)))
        _ = bucket.take(2, at: .ms(9000))
        bucket.drain(until: .ms(9500))
        #expect(bucket.earliest(taking: 1, at: .ms(9500)) == .ms(19_000))
    }

    @Test("C3: tokens that a drain has rescheduled since cannot be returned twice")
    func giveBackAfterDrain() {
        let bucket = Bucket(.requests(5, per: .seconds(1)))
        _ = bucket.take(3, at: .zero)
        // One of the tokens that now come back one by one is due when those three would have been.
        bucket.drain(until: .ms(600))
        bucket.giveBack(3, takenAt: .zero)
        #expect(bucket.take(1, at: .ms(5000)))
        #expect(bucket.available(at: .ms(5000)) == 4)
    }

    @Test("C6: tokens that are returned after a drain are not available before the drain's end")
    func giveBackWithinDrain() {
        let bucket = Bucket(.requests(5, per: .seconds(1)))
        _ = bucket.take(3, at: .zero)
        bucket.drain(until: .ms(600))
        bucket.giveBack(3, takenAt: .zero)
        #expect(bucket.available(at: .ms(599)) == 0)
        #expect(bucket.earliest(taking: 1, at: .ms(1)) == .ms(600))
        #expect(!bucket.take(1, at: .ms(599)))
        #expect(bucket.take(1, at: .ms(600)))
    }

    @Test("an invalid limit grants nothing, and does not trap", arguments: [0, -1, .min])
    func senseless(permits: Int) {
        for limit in [RateLimit.requests(permits, per: .seconds(1)), .smooth(permits, per: .zero)] {
            let bucket = Bucket(limit)
            #expect(bucket.available(at: .zero) == 0)
            #expect(!bucket.take(1, at: .zero))
            #expect(bucket.earliest(taking: 1, at: .zero) == nil)
            #expect(bucket.earliest(ofLast: 3, at: .zero) == .distantFuture)
            bucket.drain(until: .ms(5))
            bucket.giveBack(1, takenAt: .zero)
            #expect(bucket.available(at: .ms(9)) == 0)
        }
    }

    @Test("a cost of zero takes nothing, and a negative one does not fill the bucket", arguments: [0, -3, .min])
    func senselessCost(cost: Int) {
        let bucket = Bucket(.requests(5, per: .seconds(1)))
        #expect(bucket.take(cost, at: .zero) == (cost == 0))
        #expect(bucket.earliest(taking: cost, at: .zero) == .zero)
        bucket.giveBack(cost, takenAt: .zero)
        #expect(bucket.available(at: .zero) == 5)
    }

    @Test("numbers at the limits of their range do not trap")
    func edges() {
        let bucket = Bucket(.requests(.max, per: .seconds(Int64.max)))
        #expect(bucket.take(.max, at: .zero))
        #expect(bucket.earliest(taking: 1, at: .zero) == .distantFuture)
        bucket.drain(until: .distantFuture)
        #expect(bucket.earliest(ofLast: .max, at: .zero) == .distantFuture)
    }

    @Test("the memory of a bucket does not grow with the number of tokens that were taken")
    func memory() {
        /// Returns how many values it contains, however they are stored.
        func size(of value: Any) -> Int {
            Mirror(reflecting: value).children.reduce(1) { $0 + size(of: $1.value) }
        }
        var bucket = TokenBucket(.requests(5, per: .seconds(1)))
        for step in 0..<5000 where !bucket.take(1, at: .ms(Int64(step) * 200)) { Issue.record("refused at \(step)") }
        #expect(size(of: bucket) < 1000)
    }
}
