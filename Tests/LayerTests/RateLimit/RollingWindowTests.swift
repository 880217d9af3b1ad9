@testable import Errand
import ErrandTestSupport
import Testing

@Suite("The permits of one limit") struct RollingWindowTests {
    @Test("C1: under a smooth limit, a permit that is renewed frees no slot that a later one has taken")
    func renewedSlot() {
        var window = RollingWindow(permits: 4, period: .seconds(4), isSmooth: true)
        window.take(1, at: .ms(0))
        window.take(2, at: .ms(1000))
        // The two permits have taken the slots up to 3 s; the renewed one alone would take those up to 2.5 s.
        window.renew(1, takenAt: .ms(0), at: .ms(1500))
        #expect(window.earliest(taking: 1, at: .ms(1500)) == .ms(3000))
    }

    @Test("C1: under a smooth limit, the next request keeps its distance from one that left late")
    func delayedSlot() {
        for (left, next) in [(Int64(500), Int64(1500)), (5000, 6000)] {
            var window = RollingWindow(permits: 4, period: .seconds(4), isSmooth: true)
            window.take(1, at: .ms(0))
            window.delay(1, takenAt: .ms(0), to: .ms(left))
            #expect(window.earliest(taking: 1, at: .ms(left)) == .ms(next))
        }
    }

    @Test("a margin lengthens the period of each limit, and is shown")
    func margin() {
        let limit = RateLimit.all(.requests(1, per: .seconds(1)), .smooth(2, per: .seconds(10)))
            .margin(.milliseconds(50))
        #expect(
            limit.description
                == "1 per 1 s with a margin of 50 ms and 2 per 10 s with a margin of 50 ms, evenly spaced")
        #expect(limit != limit.margin(.zero) && limit.margin(.seconds(1)).margin(.milliseconds(50)) == limit)
        for (limit, next) in [(limit, Int64(5025)), (.requests(1, per: .seconds(1)).margin(.milliseconds(50)), 1050)] {
            var bucket = TokenBucket(limit)
            let isTaken = bucket.take(1, at: .ms(0))
            #expect(isTaken && bucket.earliest(taking: 1, at: .ms(0)) == .ms(next))
            #expect(bucket.available(at: .ms(next - 1)) == 0 && bucket.available(at: .ms(next)) == 1)
        }
        let problem = RateLimit.requests(1, per: .seconds(1)).margin(.milliseconds(-1)).problem
        #expect(problem == "a rate limit's margin of -1 ms must not be negative")
    }
}
