@testable import Errand
import Foundation
import Testing

@Suite("How long a response is fresh, and how old it is") struct CacheFreshnessTests {
    private func freshness(
        _ headers: HTTPHeaders, status: Int = 200, delay: Duration = .zero
    ) -> CacheFreshness {
        CacheFreshness(
            headers, status: status, control: CacheControl(headers.values("Cache-Control")), delay: delay,
            received: CacheSample.moment(0))
    }

    @Test(
        "K1: the lifetime is max-age, or Expires - Date, or a tenth of the time since the last change",
        arguments: [
            (["Cache-Control": "max-age=60", "Expires": CacheSample.date(5)], 60),
            (["Expires": CacheSample.date(90), "Date": CacheSample.date(-10)], 100),
            (["Expires": CacheSample.date(90)], 90),
            (["Expires": CacheSample.date(-5), "Date": CacheSample.date(0)], 0),
            (["Last-Modified": CacheSample.date(-1000), "Date": CacheSample.date(0)], 100),
            (["Last-Modified": CacheSample.date(-100_000_000)], 86_400),
            (["Last-Modified": CacheSample.date(50)], 0),
            ([:], 0),
        ] as [(HTTPHeaders, Double)])
    func lifetimes(headers: HTTPHeaders, expected: Double) {
        #expect(freshness(headers).lifetime == expected)
    }

    @Test(
        "K1: what cannot be read is stale, even beside a date that can",
        arguments: [
            "0", "-1", "", "never", "Thu, 18 Aug 2050 02:01:18 UTC", "Thu, 18 Aug 2050 02:01:18 AEST",
            "Thu, 18 Aug 50 02:01:18 GMT", "Thu, 18 Aug 2050 02.01.18 GMT", "Thu, 18 Aug 2050 2:01:18 GMT",
            "Thu, 32 Aug 2050 02:01:18 GMT", "2050-08-18T02:01:18Z", "Thursday, 18-Aug-2050 02:01:18 GMT",
        ])
    func broken(text: String) {
        #expect(freshness(["Expires": text, "Last-Modified": CacheSample.date(-1000)]).lifetime == 0)
        #expect(freshness(["Cache-Control": "max-age=x", "Expires": CacheSample.date(90)]).lifetime == 0)
    }

    @Test(
        "K1: each form of a date counts, in capital and small letters",
        arguments: [
            "Thu, 18 Aug 2050 02:01:18 GMT", "THU, 18 AUG 2050 02:01:18 gmt", "thu, 18 aug 2050 02:01:18 GMT",
            "Thursday, 18-Aug-50 02:01:18 GMT", "Thu Aug 18 02:01:18 2050", "Thu Aug  8 02:01:18 2050",
        ])
    func forms(text: String) {
        #expect(freshness(["Expires": text]).lifetime > 700_000_000)
    }

    @Test("K1: two Expires fields are none that can be read")
    func twice() {
        var headers: HTTPHeaders = [:]
        for _ in 0..<2 { headers.add(name: "Expires", value: CacheSample.date(90)) }
        #expect(freshness(headers).lifetime == 0)
    }

    @Test(
        "K1: the age at receipt is the greater of what Age and what Date say",
        arguments: [
            (["Age": "30"], 30), (["Age": "30, 5"], 30), (["Age": "0, 30"], 0), (["Age": "x"], 0), (["Age": "-5"], 0),
            (["Age": "7200.0"], 0), (["Age": "2147483649"], 2_147_483_649), (["Date": CacheSample.date(-40)], 40),
            (["Age": "30", "Date": CacheSample.date(-40)], 40), (["Age": "50", "Date": CacheSample.date(-40)], 50),
            (["Date": CacheSample.date(40)], 0), (["Date": "x", "Age": "3"], 3),
        ] as [(HTTPHeaders, Double)])
    func ages(headers: HTTPHeaders, expected: Double) {
        #expect(freshness(headers).initialAge == expected)
        #expect(freshness(headers).age(at: CacheSample.moment(7)) == expected + 7)
    }

    @Test("K1: the time until the answer counts as age")
    func delay() {
        #expect(freshness(["Age": "5"], delay: .seconds(4)).initialAge == 9)
    }

    @Test(
        "K15: a wall clock that runs back makes the age unknown, and one that jumps ahead makes a response old",
        arguments: [
            (100, 100, 100), (100, 95, 100), (100, 89, nil), (100, 0, nil), (100, -5000, nil), (5, -6, nil),
            (100, 5000, 5000),
        ] as [(Double, Double, Double?)])
    func clocks(seconds: Double, wall: Double, expected: Double?) {
        #expect(freshness([:]).age(at: CacheSample.moment(seconds, wall: wall)) == expected)
    }

    @Test("K15: without a common clock, a moment before the receipt is unknown", arguments: [(5.0, 5.0), (-1, nil)])
    func otherProcess(wall: Double, expected: Double?) {
        let now = CacheMoment(date: CacheSample.start.addingTimeInterval(wall), instant: nil)
        #expect(freshness([:]).age(at: now) == expected)
    }

    @Test("K1: where the server gives no lifetime, a call decides: by one that it names, for successes, or by a guess")
    func undecided() {
        func lifetime(_ headers: HTTPHeaders, status: Int = 200, _ policies: CachePolicy...) -> Double {
            CacheRules(policies, key: nil, tags: []).lifetime(of: freshness(headers, status: status), status: status)
        }
        let named = CachePolicy.for(.seconds(300))
        let changed: HTTPHeaders = ["Last-Modified": CacheSample.date(-1000), "Date": CacheSample.date(0)]
        #expect(lifetime([:]) == 0 && lifetime([:], named) == 300 && lifetime([:], .heuristic) == 0)
        #expect(lifetime(changed) == 0 && lifetime(changed, .heuristic) == 100)
        #expect(lifetime(changed, named) == 300 && lifetime(changed, .heuristic, named) == 300)
        #expect(lifetime(changed, status: 404, .heuristic) == 100 && lifetime(changed, status: 503, .heuristic) == 0)
        #expect(lifetime(["Cache-Control": "max-age=5"], named) == 5)
        #expect(lifetime(["Cache-Control": "max-age=x"], named) == 0)
        #expect(lifetime(["Expires": "0"], named, .heuristic) == 0)
        #expect(lifetime([:], status: 404, named) == 0)
    }
}
