@testable import Errand
import ErrandTestSupport
import FoundationEssentials
import Testing

@Suite("What a response's headers say about the pace") struct RetryAfterHeadersTests {
    /// A quarter past a full second, 2001-09-09 01:46:40.25.
    private static let date = Date(timeIntervalSince1970: 1_000_000_000.25)

    private static func pause(_ status: Int, _ headers: HTTPHeaders) -> Duration? {
        RetryAfterHeaders.pause(after: HTTPResponse(status: status, headers: headers), date: date)
    }

    @Test(
        "C7: headers that ask for a pause, and its length",
        arguments: [
            (429, ["Retry-After": "30"], 30), (503, ["retry-after": " 7 "], 7), (429, ["Retry-After": "0"], 0),
            (200, ["RateLimit": #""default";r=0;t=30"#], 30), (200, ["RateLimit": "limit=9, remaining=0, reset=5"], 5),
            (200, ["RateLimit": #""a";r=3;t=9, "b";r=0;t=4"#], 4),
            // Of several policies the longest wait counts, wherever it is.
            (429, ["RateLimit": #""burst";r=0;t=1, "day";r=0;t=3600"#], 3600),
            (200, ["RateLimit": #""day";r=0;t=3600, "burst";r=0;t=1, "hour";r=5;t=9999"#], 3600),
            (200, ["RateLimit": "day;r=0;t=7,burst;r=0;t=2"], 7),
            (200, [#"RateLimit"#: #""a, b;r=0;t=99";r=0;t=4"#], 4), (200, ["RateLimit": #""\"x,";r=0;t=4"#], 4),
            // A policy that cannot be parsed does not invalidate the others.
            (200, ["RateLimit": #""a";r=0;t=soon, "b";r=0;t=6;pk=:QQ==:, "c";r=0"#], 6),
            (200, ["RateLimit": "\"a\";  r=0;t=6 \t,\t \"b\";r=0;t=2"], 6),
            // Minus zero is an integer too, and 15 digits are the most (RFC 9651, 3.3.1).
            (200, ["RateLimit": #""a";r=-0;t=7"#], 7), (200, ["RateLimit": #""a";r=000;t=007"#], 7),
            (200, ["RateLimit": #""a";r=0;t=999999999999999"#], 3_155_760_000),
            (200, ["RateLimit": "limit=9, remaining=-0, reset=5"], 5),
            (200, ["RateLimit-Remaining": "-0", "RateLimit-Reset": "12"], 12),
            // Whatever else a structured field may hold.
            (
                200,
                [
                    "RateLimit":
                        #""a";r=0;t=6;p=:QQ==:;q="x,\";";s=?1;u=1.5;v=@12;w=%"%c3%a4";"#
                        + #"x=*a/b:c;y, (1 "b");t=9, ?0, -1.0"#
                ], 6
            ),
            (200, ["RateLimit": "limit=9;w=60, remaining=0, reset=5"], 5),
            (200, ["RateLimit": "limit=9; remaining=0; reset=5"], 5),
            // The list may contain a point in time, too.
            (200, ["RateLimit": #""a";r=0;t=1000000010"#], 10),
            (200, ["RateLimit-Remaining": "0", "RateLimit-Reset": "12"], 12),
            (200, ["RateLimit-Remaining": "3, 0, 0", "RateLimit-Reset": "99, 12, 30"], 30),
            // A new header takes precedence over an older one.
            (200, ["RateLimit": #""a";r=0;t=2"#, "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "30"], 2),
            (404, ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "3"], 3),
            // Some servers send a point in time, in seconds or milliseconds since 1970.
            (200, ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1000000010"], 10),
            (200, ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1000000010000"], 10),
            (200, ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1000000000"], 0),
            // Retry-After takes precedence.
            (429, ["Retry-After": "2", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "60"], 2),
            (429, ["Retry-After": "soon", "RateLimit": "limit=1, remaining=0, reset=6"], 6),
            // Waits are limited to a hundred years.
            (429, ["Retry-After": "99999999999999999999999"], 3_155_760_000),
            (429, ["Retry-After": "99999999999999999999"], 3_155_760_000),
            (503, ["Retry-After": "Fri, 31 Dec 9999 23:59:59 GMT"], 3_155_760_000),
            (200, ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "99999999999999999999"], 3_155_760_000),
            // A point in time is not read as a pause of thirty years here either.
            (429, ["Retry-After": "1000000010"], 10), (503, ["Retry-After": "1000000010000"], 10),
            (429, ["Retry-After": "1000000000"], 0), (429, ["Retry-After": "999999999"], 999_999_999),
        ] as [(Int, HTTPHeaders, Int)])
    func pauses(status: Int, headers: HTTPHeaders, seconds: Int) {
        #expect(Self.pause(status, headers) == .seconds(seconds))
    }

    @Test(
        "C7, C15: parts of a second, and milliseconds, which go before seconds",
        arguments: [
            (429, ["Retry-After": "0.25"], 250_000_000), (503, ["Retry-After": "1.5"], 1_500_000_000),
            (429, ["Retry-After": "2.0000000019"], 2_000_000_001), (429, ["Retry-After": "0.0"], 0),
            (429, ["Retry-After-Ms": "40"], 40_000_000), (503, ["retry-after-ms": " 1.5 "], 1_500_000),
            (429, ["Retry-After-Ms": "40", "Retry-After": "9"], 40_000_000),
            (429, ["Retry-After-Ms": "soon", "Retry-After": "9"], 9_000_000_000),
            (403, ["Retry-After-Ms": "40"], 40_000_000),
            (429, ["Retry-After-Ms": "99999999999999999999"], 3_155_760_000_000_000_000),
            (429, ["Retry-After": "99999999999.5"], 3_155_760_000_000_000_000),
        ] as [(Int, HTTPHeaders, Int64)])
    func parts(status: Int, headers: HTTPHeaders, nanoseconds: Int64) {
        #expect(Self.pause(status, headers) == .nanoseconds(nanoseconds))
    }

    @Test(
        "C7: malformed headers, and those that leave some quota, ask for nothing",
        arguments: [
            // A named policy without a number does not take it from another, whatever its name looks like.
            (200, ["RateLimit": #""a=b";r=0, "c=d";t=9"#]),
            (200, [:]), (200, ["Retry-After": "30"]), (404, ["Retry-After": "30"]), (429, ["Retry-After": ""]),
            (429, ["Retry-After": "-1"]), (429, ["Retry-After": "+3"]), (429, ["Retry-After": "1.5.2"]),
            (429, ["Retry-After": ".5"]), (429, ["Retry-After": "5."]), (429, ["Retry-After": "1e3"]),
            (429, ["Retry-After-Ms": "-5"]), (200, ["Retry-After-Ms": "5"]), (429, ["Retry-After-Ms": "5 ms"]),
            (429, ["Retry-After": "3 s"]), (429, ["Retry-After": "３"]), (429, ["Retry-After": "Sun, 99 Nov 1994"]),
            (200, ["RateLimit": #""default";r=1;t=30"#]), (200, ["RateLimit": #""default";r=0"#]),
            (200, ["RateLimit": ";;;,,="]), (200, ["RateLimit": #"r="0";t=3"#]), (200, ["RateLimit": "remaining=0"]),
            (200, ["RateLimit": #""a";r=0, "b";t=3"#]), (200, ["RateLimit": "a;r=0, b;t=3"]),
            (200, ["RateLimit": #""a;r=0;t=3"#]), (200, ["RateLimit": #""a\"#]),
            (200, ["RateLimit": #""a";r=0.0;t=3"#]),
            // A field that is no list and no dictionary counts as missing, all of it (RFC 9651, 4.2).
            (200, ["RateLimit": #""a";r=0;t=6,"#]), (200, ["RateLimit": #""a";r=0;t=6,,"b";r=0;t=1"#]),
            (200, ["RateLimit": #""a" ;r=0;t=6"#]), (200, ["RateLimit": #""a";r =0;t=6"#]),
            (200, ["RateLimit": #""a";r= 0;t=6"#]), (200, ["RateLimit": "\"a\";\tr=0;t=6"]),
            (200, ["RateLimit": #""a";r=0;t=1234567890123456"#]), (200, ["RateLimit": #""a";r=0;t=-"#]),
            (200, ["RateLimit": #""a";r=0;t=99999999999999999999, "b";r=0;t=4"#]),
            (200, ["RateLimit": "limit=9, remaining=0, reset=5,"]), (200, ["RateLimit": #""a";R=0;t=3"#]),
            (200, ["RateLimit": #""a";r=0;t=-3"#]), (200, ["RateLimit": #""ä";r=0;t=3"#]),
            (200, ["RateLimit": #"("a";r=0;t=3"#]), (200, ["RateLimit": #""a";r=0;t=3;x=%"%C3""#]),
            (200, ["RateLimit-Remaining": "0,", "RateLimit-Reset": "9"]),
            (200, ["RateLimit-Remaining": "0", "RateLimit-Reset": "1234567890123456"]),
            (200, ["X-RateLimit-Remaining": "0"]), (200, ["X-RateLimit-Reset": "9"]),
            (200, ["X-RateLimit-Remaining": "none", "X-RateLimit-Reset": "9"]),
            (200, ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "tomorrow"]),
            (200, ["X-RateLimit-Remaining": "1", "X-RateLimit-Reset": "9"]),
            (200, ["RateLimit-Remaining": "0", "X-RateLimit-Reset": "9"]),
        ] as [(Int, HTTPHeaders)])
    func nothing(status: Int, headers: HTTPHeaders) {
        #expect(Self.pause(status, headers) == nil)
    }

    @Test("C7: several header lines are read as one list")
    func lines() {
        var headers: HTTPHeaders = ["RateLimit": #""burst";r=0;t=1"#]
        headers.add(name: "RateLimit", value: #""day";r=0;t=60"#)
        #expect(Self.pause(200, headers) == .seconds(60))
    }

    @Test("C7: a wait beyond the ceiling counts as if it had not been asked for, and is reported")
    func ceiling() {
        let date = Self.date
        func pacing(_ status: Int, _ headers: HTTPHeaders) -> (Duration?, Duration?) {
            let response = HTTPResponse(status: status, headers: headers)
            let pacing = RetryAfterHeaders(of: response, date: date, ceiling: .seconds(3600))
            return (pacing.pause, pacing.ignored)
        }
        #expect(pacing(429, ["Retry-After": "3600"]) == (.seconds(3600), nil))
        #expect(pacing(429, ["Retry-After": "3601"]) == (nil, .seconds(3601)))
        #expect(pacing(200, ["RateLimit": #""burst";r=0;t=1, "day";r=0;t=3601"#]) == (.seconds(1), .seconds(3601)))
        let both: HTTPHeaders = ["Retry-After": "7200", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "5"]
        #expect(pacing(429, both) == (.seconds(5), .seconds(7200)))
        #expect(pacing(200, [:]) == (nil, nil))
    }

    @Test(
        "C15: a date in each of its three forms; the wait is rounded up, so it never ends too early",
        arguments: [
            "Sun, 09 Sep 2001 01:47:40 GMT", "Sunday, 09-Sep-01 01:47:40 GMT", "Sun Sep  9 01:47:40 2001",
        ])
    func dates(text: String) {
        #expect(Self.pause(503, ["Retry-After": text]) == .seconds(60))
    }

    @Test(
        "C15: a date is read against the answer's own date, whatever our clock shows",
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:50:07 GMT", nil, 30),
            ("Fri, 31 Dec 2055 23:59:30 GMT", "Sat, 01 Jan 2056 00:00:10 GMT", nil, 40),
            ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT", nil, 0),
            ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:40:00 GMT", nil, 0),
            // A cache has kept the answer for a while.
            ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:50:37 GMT", "50", 10),
            ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:50:37 GMT", "some", 60),
            // Without a date of its own, our clock has to do.
            ("yesterday", "Sun, 09 Sep 2001 01:47:40 GMT", nil, 60), ("", "Sun, 09 Sep 2001 01:47:40 GMT", "50", 60),
        ] as [(String, String, String?, Int)])
    func ownDate(date: String, until: String, age: String?, seconds: Int) {
        var headers: HTTPHeaders = ["Date": date, "Retry-After": until]
        headers["Age"] = age
        #expect(Self.pause(503, headers) == .seconds(seconds))
        #expect(RetryAfterHeaders.retryAfter(in: headers, date: Self.date) == .seconds(seconds))
    }

    @Test("C7: a reset that is a point in time is read against the answer's own date too")
    func ownDateOfReset() {
        let headers: HTTPHeaders = [
            "Date": "Sun, 09 Sep 2001 01:46:50 GMT", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1000000030",
        ]
        #expect(Self.pause(200, headers) == .seconds(20))
    }

    @Test("C15: a date in the past is no wait")
    func past() {
        #expect(Self.pause(429, ["Retry-After": "Sun, 06 Nov 1994 08:49:37 GMT"]) == .zero)
    }
}
