@testable import Errand
import ErrandTestSupport
import Foundation

/// Requests, responses and moments for the tests of the policy. Time is given in seconds.
enum CacheSample {
    static let url = HTTPURL(origin: Origin(scheme: "https", host: "api.test", port: nil), path: "/x", query: nil)
    /// The beginning of 2026.
    static let start = Date(timeIntervalSince1970: 1_767_225_600)

    static func moment(_ seconds: Double, wall: Double? = nil) -> CacheMoment {
        CacheMoment(
            date: start.addingTimeInterval(wall ?? seconds), instant: Instant(nanoseconds: Int64(seconds * 1e9)))
    }

    static func date(_ seconds: Double) -> String { HTTPDate.text(start.addingTimeInterval(seconds)) }

    static func request(_ headers: HTTPHeaders = [:], _ method: HTTPMethod = .get) -> HTTPRequest {
        HTTPRequest(method: method, url: url, headers: headers)
    }

    static func rules(_ policies: CachePolicy...) -> CacheRules { CacheRules(policies, key: nil, tags: []) }

    static func exchange(
        _ request: HTTPRequest = request(), sent: HTTPRequest? = nil, rules: CacheRules = CacheRules(),
        signedWith token: String? = nil, isOfSession: Bool = false, at seconds: Double = 0, delay: Duration = .zero
    ) -> CacheExchange {
        CacheExchange(
            request: request, sent: sent ?? request, rules: rules, signedWith: token, isOfSession: isOfSession,
            received: moment(seconds), delay: delay,
            identity: IdentityFields(.standard, anonymous: ["A", "B", "X-Device"]))
    }

    static func response(_ headers: HTTPHeaders, status: Int = 200) -> HTTPResponse {
        HTTPResponse(status: status, headers: headers, body: .bytes(Data("[1]".utf8)))
    }

    /// Returns what is stored of a response with those headers; `nil` if nothing is.
    static func stored(
        _ headers: HTTPHeaders, status: Int = 200, to request: HTTPRequest = request(),
        rules: CacheRules = CacheRules(), at seconds: Double = 0
    ) -> StoredResponse? {
        let exchange = exchange(request, rules: rules, at: seconds)
        guard case .store(let stored) = exchange.outcome(of: response(headers, status: status)) else { return nil }
        return stored
    }

    static func reason(
        _ headers: HTTPHeaders, status: Int = 200, _ exchange: CacheExchange = exchange()
    ) -> CacheStatus.Reason? {
        guard case .leave(let reason) = exchange.outcome(of: response(headers, status: status)) else { return nil }
        return reason
    }
}

/// Makes up texts of the parts of which fields consist.
struct SeededCacheText {
    private static let parts = [
        "max-age", "no-cache", "stale-while-revalidate", "stale-if-error", "public", "private", "immutable", "x", "=",
        "= ", " =", ",", ", ", " ", ";", "\"", "\\", "5", "60", "-1", "99999999999", "é", "\t", "'", "=\"7\"",
    ]

    private var random: SeededRandom

    init(seed: UInt64) {
        random = SeededRandom(seed)
    }

    mutating func text() -> String {
        (0..<random.int(0...8)).map { _ in Self.parts[random.int(0...Self.parts.count - 1)] }.joined()
    }

    mutating func int(_ range: ClosedRange<Int>) -> Int { random.int(range) }

    mutating func chance(_ percent: Int) -> Bool { random.chance(percent) }
}
