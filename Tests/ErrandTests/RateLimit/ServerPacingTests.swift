@testable import Errand
import FoundationEssentials
import Testing

@Suite("What an answer's headers say about the pace") struct ServerPacingTests {
    /// A quarter past a full second, 2001-09-09 01:46:40.25.
    private static let date = Date(timeIntervalSince1970: 1_000_000_000.25)

    private static func pause(_ status: Int, _ headers: HTTPHeaders) -> Duration? {
        ServerPacing.pause(after: HTTPResponse(status: status, headers: headers), date: date)
    }

    @Test(
        "C7: what asks for a pause, and how long",
        arguments: [
            (429, ["Retry-After": "30"], 30), (503, ["retry-after": " 7 "], 7), (429, ["Retry-After": "0"], 0),
            (200, ["RateLimit": #""default";r=0;t=30"#], 30), (200, ["RateLimit": "limit=9, remaining=0, reset=5"], 5),
            (200, ["RateLimit": #""a";r=3;t=9, "b";r=0;t=4"#], 4),
            (200, ["RateLimit-Remaining": "0", "RateLimit-Reset": "12"], 12),
            (404, ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "3"], 3),
            // A moment in seconds since 1970, and in milliseconds, as some servers have it.
            (200, ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1000000010"], 10),
            (200, ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1000000010000"], 10),
            (200, ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1000000000"], 0),
            // Retry-After wins.
            (429, ["Retry-After": "2", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "60"], 2),
            (429, ["Retry-After": "soon", "RateLimit": "limit=1, remaining=0, reset=6"], 6),
            (429, ["Retry-After": "99999999999999999999999"], 100_000_000_000),
            // A moment does not become a pause of thirty years here either.
            (429, ["Retry-After": "1000000010"], 10), (503, ["Retry-After": "1000000010000"], 10),
            (429, ["Retry-After": "1000000000"], 0), (429, ["Retry-After": "999999999"], 999_999_999),
        ] as [(Int, HTTPHeaders, Int)])
    func pauses(status: Int, headers: HTTPHeaders, seconds: Int) {
        #expect(Self.pause(status, headers) == .seconds(seconds))
    }

    @Test(
        "C7: what is malformed, or leaves something over, asks for nothing",
        arguments: [
            (200, [:]), (200, ["Retry-After": "30"]), (404, ["Retry-After": "30"]), (429, ["Retry-After": ""]),
            (429, ["Retry-After": "-1"]), (429, ["Retry-After": "+3"]), (429, ["Retry-After": "1.5"]),
            (429, ["Retry-After": "3 s"]), (429, ["Retry-After": "３"]), (429, ["Retry-After": "Sun, 99 Nov 1994"]),
            (200, ["RateLimit": #""default";r=1;t=30"#]), (200, ["RateLimit": #""default";r=0"#]),
            (200, ["RateLimit": ";;;,,="]), (200, ["RateLimit": #"r="0";t=3"#]), (200, ["RateLimit": "remaining=0"]),
            (200, ["X-RateLimit-Remaining": "0"]), (200, ["X-RateLimit-Reset": "9"]),
            (200, ["X-RateLimit-Remaining": "none", "X-RateLimit-Reset": "9"]),
            (200, ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "tomorrow"]),
            (200, ["X-RateLimit-Remaining": "1", "X-RateLimit-Reset": "9"]),
            (200, ["RateLimit-Remaining": "0", "X-RateLimit-Reset": "9"]),
        ] as [(Int, HTTPHeaders)])
    func nothing(status: Int, headers: HTTPHeaders) {
        #expect(Self.pause(status, headers) == nil)
    }

    @Test(
        "C15: a date in each of its three forms; a rounded-up second is never too soon",
        arguments: [
            "Sun, 09 Sep 2001 01:47:40 GMT", "Sunday, 09-Sep-01 01:47:40 GMT", "Sun Sep  9 01:47:40 2001",
        ])
    func dates(text: String) {
        #expect(Self.pause(503, ["Retry-After": text]) == .seconds(60))
    }

    @Test("C15: a date in the past is no wait at all")
    func past() {
        #expect(Self.pause(429, ["Retry-After": "Sun, 06 Nov 1994 08:49:37 GMT"]) == .zero)
    }
}
