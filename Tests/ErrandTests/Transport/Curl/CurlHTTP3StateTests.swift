#if os(Linux)
import ErrandTestSupport
import Testing

@testable import Errand

@Suite("When requests go over HTTP/3") struct CurlHTTP3StateTests {
    private typealias Way = CurlHTTP3.Way

    private func at(_ seconds: Int) -> Instant { .zero.advanced(by: .seconds(seconds)) }

    /// Returns the way of a request at that second.
    private func way(
        _ http3: inout CurlHTTP3, _ second: Int, origin: UInt64 = 1, hasConnection: Bool = false
    ) -> Way {
        http3.way(to: origin, at: at(second)) { hasConnection }
    }

    /// Returns the state after an announcement for an hour.
    private func announced() -> CurlHTTP3 {
        var http3 = CurlHTTP3()
        http3.note(.announced(for: .seconds(3600)), of: 1, at: .zero)
        return http3
    }

    @Test("without an announcement, requests go as before")
    func unknown() {
        var http3 = CurlHTTP3()
        #expect(way(&http3, 0, hasConnection: true) == .usual)
        http3.note(.withdrawn, of: 1, at: .zero)
        #expect(way(&http3, 0) == .usual)
        #expect(http3.count == 0)
    }

    @Test("one request at a time tries what was announced, for one origin")
    func trial() {
        var http3 = announced()
        #expect(way(&http3, 1) == .trial)
        #expect(way(&http3, 1) == .usual)
        #expect(way(&http3, 1, origin: 2) == .usual)
    }

    @Test("after a response over HTTP/3, requests use its connection while it is there")
    func spoken() {
        var http3 = announced()
        #expect(way(&http3, 1) == .trial)
        http3.end(.trial, .spoken, of: 1, at: at(2))
        #expect(way(&http3, 3, hasConnection: true) == .kept)
        #expect(way(&http3, 3, hasConnection: true) == .kept)
        #expect(way(&http3, 4) == .trial)
        #expect(way(&http3, 4) == .usual)
        // The connection that is there is not affected by the trial of another.
        #expect(way(&http3, 4, hasConnection: true) == .kept)
    }

    @Test("a trial that was cancelled leaves the next request to try")
    func cancelled() {
        var http3 = announced()
        #expect(way(&http3, 1) == .trial)
        http3.end(.trial, .unknown, of: 1, at: at(2))
        #expect(way(&http3, 2) == .trial)
    }

    @Test("an announcement holds for its lifetime, and each one begins it anew")
    func lifetime() {
        var http3 = announced()
        http3.end(way(&http3, 1), .spoken, of: 1, at: at(1))
        #expect(way(&http3, 3599, hasConnection: true) == .kept)
        #expect(way(&http3, 3600, hasConnection: true) == .usual)
        http3.note(.announced(for: .seconds(60)), of: 1, at: at(3600))
        #expect(way(&http3, 3659, hasConnection: true) == .kept)
        #expect(way(&http3, 3660, hasConnection: true) == .usual)
    }

    @Test("a withdrawal ends it at once")
    func withdrawn() {
        var http3 = announced()
        http3.end(way(&http3, 1), .spoken, of: 1, at: at(1))
        http3.note(.withdrawn, of: 1, at: at(2))
        #expect(way(&http3, 2, hasConnection: true) == .usual)
        http3.note(.announced(for: .seconds(60)), of: 1, at: at(3))
        #expect(way(&http3, 3) == .trial)
    }

    @Test("a failure pauses for five minutes, and each further one for twice as long, up to a day")
    func failures() {
        var http3 = CurlHTTP3()
        http3.note(.announced(for: .seconds(10_000_000)), of: 1, at: .zero)
        var now = 0
        for pause in [300, 600, 1200, 2400, 4800, 9600, 19_200, 38_400, 76_800, 86_400, 86_400, 86_400] {
            #expect(way(&http3, now) == .trial)
            http3.end(.trial, .failed, of: 1, at: at(now))
            #expect(way(&http3, now + pause - 1) == .usual)
            now += pause
        }
        #expect(way(&http3, now) == .trial)
        http3.end(.trial, .spoken, of: 1, at: at(now))
        http3.end(.kept, .failed, of: 1, at: at(now))
        #expect(way(&http3, now + 299, hasConnection: true) == .usual)
        #expect(way(&http3, now + 300, hasConnection: true) == .trial)
    }

    @Test("the requests of one connection that fails count as one failure")
    func together() {
        var http3 = announced()
        http3.end(way(&http3, 0), .spoken, of: 1, at: .zero)
        for _ in 0..<100 { http3.end(.kept, .failed, of: 1, at: at(10)) }
        #expect(way(&http3, 309) == .usual)
        #expect(way(&http3, 310) == .trial)
    }

    @Test("an announcement does not shorten a pause; a response over HTTP/3 ends it")
    func pause() {
        var http3 = announced()
        http3.end(way(&http3, 0), .failed, of: 1, at: .zero)
        http3.note(.announced(for: .seconds(3600)), of: 1, at: at(1))
        #expect(way(&http3, 2) == .usual)
        http3.end(.kept, .spoken, of: 1, at: at(3))
        #expect(way(&http3, 3, hasConnection: true) == .kept)
    }

    @Test("where it is assumed, only a failure changes the way")
    func assumed() {
        var http3 = CurlHTTP3(isAssumed: true)
        #expect(way(&http3, 0) == .preferred)
        http3.note(.withdrawn, of: 1, at: .zero)
        http3.end(.preferred, .spoken, of: 1, at: .zero)
        #expect(way(&http3, 0) == .preferred)
        #expect(http3.count == 0)
        http3.end(.preferred, .failed, of: 1, at: .zero)
        #expect(way(&http3, 299) == .usual)
        #expect(way(&http3, 299, origin: 2) == .preferred)
        #expect(way(&http3, 300) == .preferred)
    }

    @Test("what is no longer true takes no memory")
    func forgotten() {
        var http3 = CurlHTTP3()
        for origin in 0..<UInt64(5000) {
            http3.note(.announced(for: .seconds(1)), of: origin, at: at(Int(origin)))
        }
        #expect(http3.count <= 1024)
    }
}
#endif
