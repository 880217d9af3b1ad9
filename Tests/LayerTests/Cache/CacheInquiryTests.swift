@testable import Errand
import ErrandTestSupport
import Foundation
import Testing

@Suite("What the cache does with a request") struct CacheInquiryTests {
    /// A decision as a word.
    private func decision(
        _ stored: HTTPHeaders?, _ request: HTTPHeaders = [:], _ rules: CacheRules = CacheRules(),
        method: HTTPMethod = .get, at seconds: Double, wall: Double? = nil
    ) throws -> String {
        let inquiry = CacheInquiry(CacheSample.request(request, method), rules: rules)
        let found = try stored.map {
            try #require(CacheSample.stored($0, rules: CacheSample.rules(.staleUpTo(.seconds(1)))))
        }
        switch inquiry.decision(on: found, at: CacheSample.moment(seconds, wall: wall)) {
        case .serve: return "fresh"
        case .serveStale(_, let reason, let isRefreshing):
            return (reason == .refreshing ? "refreshing" : "accepted") + (isRefreshing ? "" : ", not refreshed")
        case .revalidate: return "revalidate"
        case .fetch: return "fetch"
        case .refuse: return "refuse"
        }
    }

    @Test(
        "K1, K2, K5: what is stored, with what the request asks and how old it is",
        arguments: [
            ("max-age=60", "", 59.9, "fresh"), ("max-age=60", "", 60, "revalidate"),
            ("max-age=60", "", 61, "revalidate"),
            ("max-age=60, no-cache", "", 1, "revalidate"), ("no-cache=\"x\", max-age=60", "", 1, "revalidate"),
            ("max-age=60, immutable", "", 61, "revalidate"), ("max-age=60", "no-cache", 1, "revalidate"),
            ("max-age=60", "max-age=5", 5, "fresh"), ("max-age=60", "max-age=5", 6, "revalidate"),
            ("max-age=60", "max-age=x", 1, "revalidate"), ("max-age=60", "min-fresh=10", 50, "fresh"),
            ("max-age=60", "min-fresh=10", 51, "revalidate"), ("max-age=60", "min-fresh", 1, "revalidate"),
            ("max-age=60", "max-stale=10", 70, "accepted, not refreshed"),
            ("max-age=60", "max-stale=10", 71, "revalidate"),
            ("max-age=60", "max-stale", 10_000, "accepted, not refreshed"),
            ("max-age=60", "max-stale=x", 61, "revalidate"),
            ("max-age=60", "max-stale=10, max-age=65", 66, "revalidate"),
            ("max-age=60", "max-stale=10, min-fresh=5", 61, "revalidate"),
            ("max-age=60, must-revalidate", "max-stale", 61, "revalidate"),
            ("max-age=60, no-cache", "max-stale", 1, "revalidate"),
            ("max-age=60, stale-while-revalidate=30", "", 61, "refreshing"),
            ("max-age=60, stale-while-revalidate=30", "", 89.9, "refreshing"),
            ("max-age=60, stale-while-revalidate=30", "", 90, "revalidate"),
            ("max-age=60, stale-while-revalidate=30, must-revalidate", "", 61, "revalidate"),
            ("max-age=60, stale-while-revalidate=30", "max-age=60", 61, "revalidate"),
            ("max-age=60, stale-while-revalidate=30", "no-cache", 61, "revalidate"),
            ("max-age=60, stale-if-error=30", "", 61, "revalidate"),
            ("max-age=60", "only-if-cached", 59, "fresh"), ("max-age=60", "only-if-cached", 61, "refuse"),
            ("max-age=60", "only-if-cached, max-stale=5", 61, "accepted, not refreshed"),
            ("max-age=60, stale-while-revalidate=30", "only-if-cached", 61, "refuse"),
            ("no-cache", "only-if-cached", 1, "refuse"),
        ] as [(String, String, Double, String)])
    func table(control: String, request: String, age: Double, expected: String) throws {
        let stored: HTTPHeaders = ["Cache-Control": control, "ETag": "\"1\""]
        let asked: HTTPHeaders = request.isEmpty ? [:] : ["Cache-Control": request]
        #expect(try decision(stored, asked, at: age) == expected)
        // Without a validator it is sent again instead.
        let unvalidated = try decision(["Cache-Control": control], asked, at: age)
        #expect(unvalidated == (expected == "revalidate" ? "fetch" : expected))
        // A HEAD is answered by what a GET has brought, and never confirms it.
        let head = try decision(stored, asked, method: .head, at: age)
        #expect(head == (expected == "revalidate" ? "fetch" : expected))
        // A clock that has run back makes it stale (K15).
        let asked2 = try decision(stored, asked, at: age + 20, wall: 0)
        #expect(asked2 == (request.contains("only-if-cached") ? "refuse" : "revalidate"))
    }

    @Test("K2: without anything stored, the request is sent, or refused if nothing may be sent")
    func nothing() throws {
        #expect(try decision(nil, at: 0) == "fetch")
        #expect(try decision(nil, ["Cache-Control": "only-if-cached"], at: 0) == "refuse")
        #expect(try decision(nil, [:], CacheSample.rules(.onlyIfCached), at: 0) == "refuse")
    }

    @Test(
        "K2, K5: the policies of a call",
        arguments: [
            ([.reload], "max-age=60", 1, "fetch"), ([.onlyIfCached], "max-age=60", 61, "refuse"),
            ([.staleUpTo(.seconds(30))], "max-age=60", 90, "accepted"),
            ([.staleUpTo(.seconds(30))], "max-age=60", 91, "revalidate"),
            ([.staleUpTo(.seconds(30))], "max-age=60, must-revalidate", 61, "revalidate"),
            ([.staleUpTo(.seconds(30))], "max-age=60, no-cache", 1, "revalidate"),
            ([.onlyIfCached, .staleUpTo(.seconds(30))], "max-age=60", 61, "accepted, not refreshed"),
        ] as [([CachePolicy], String, Double, String)])
    func policies(policies: [CachePolicy], control: String, age: Double, expected: String) throws {
        let rules = CacheRules(policies, key: nil, tags: [])
        #expect(try decision(["Cache-Control": control, "ETag": "\"1\""], [:], rules, at: age) == expected)
    }

    @Test(
        "K5: what may be served when the server fails",
        arguments: [
            ("max-age=60, stale-if-error=30", "", 90, true), ("max-age=60, stale-if-error=30", "", 91, false),
            ("max-age=60", "", 61, false), ("max-age=60", "stale-if-error=30", 90, true),
            ("max-age=60, stale-if-error=30, must-revalidate", "", 61, false),
            ("max-age=60, stale-if-error=30, no-cache", "", 1, false), ("max-age=60", "no-cache", 1, false),
            ("max-age=60, stale-if-error=30", "max-age=1", 61, false), ("max-age=60, stale-if-error=x", "", 61, false),
        ] as [(String, String, Double, Bool)])
    func failure(control: String, request: String, age: Double, expected: Bool) throws {
        let asked: HTTPHeaders = request.isEmpty ? [:] : ["Cache-Control": request]
        let inquiry = CacheInquiry(CacheSample.request(asked), rules: CacheRules())
        let stored = try #require(CacheSample.stored(["Cache-Control": control, "ETag": "\"1\""]))
        #expect((inquiry.ageIfUsableOnFailure(stored, at: CacheSample.moment(age)) != nil) == expected)
    }

    @Test(
        "K10: other methods, ranges and the caller's own conditions are not for the cache",
        arguments: ["Range", "If-Match", "If-Range", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since"])
    func bypass(name: String) {
        #expect(CacheInquiry(CacheSample.request(), rules: CacheRules()).isHandled)
        #expect(CacheInquiry(CacheSample.request([:], .head), rules: CacheRules()).isHandled)
        for name in [name, name.lowercased()] {
            #expect(!CacheInquiry(CacheSample.request([name: "x"]), rules: CacheRules()).isHandled)
        }
        for method: HTTPMethod in [.post, .put, .patch, .delete, .options, "query", "get"] {
            #expect(!CacheInquiry(CacheSample.request([:], method), rules: CacheRules()).isHandled)
        }
        var withBody = CacheSample.request()
        withBody.body = .bytes(Data("{}".utf8))
        #expect(!CacheInquiry(withBody, rules: CacheRules()).isHandled)
    }

    @Test("K2: no-store, of the request or the call, uses nothing and stores nothing")
    func noStore() {
        #expect(!CacheInquiry(CacheSample.request(["Cache-Control": "no-store"]), rules: CacheRules()).isHandled)
        #expect(!CacheInquiry(CacheSample.request(), rules: CacheSample.rules(.noStore)).isHandled)
    }
}
