@testable import Errand
import ErrandTestSupport
import Foundation
import Testing

@Suite("What becomes of a response") struct CacheExchangeTests {
    @Test("K10: no status that is about the request, its signature or a part is stored", arguments: 100..<600)
    func statuses(status: Int) {
        let unstored = [206, 304, 401, 407, 412, 416, 421, 425, 428, 429, 431, 511]
        let expected = status >= 200 && !unstored.contains(status)
        #expect((CacheSample.stored(["Cache-Control": "max-age=60"], status: status) != nil) == expected)
    }

    @Test("K1: without a lifetime, only a response that may be stored by default is stored, and only with a validator")
    func defaults() {
        #expect(CacheSample.stored(["ETag": "\"1\""]) != nil)
        #expect(CacheSample.stored(["ETag": "\"1\""], status: 201) == nil)
        #expect(CacheSample.stored(["ETag": "\"1\"", "Cache-Control": "private"], status: 201) != nil)
        #expect(CacheSample.stored(["Last-Modified": CacheSample.date(-50)], status: 404) != nil)
        #expect(CacheSample.stored(["Last-Modified": CacheSample.date(-50)], status: 503) == nil)
        #expect(CacheSample.reason([:]) == .noLifetime)
        #expect(CacheSample.reason(["Cache-Control": "max-age=0"]) == .noLifetime)
        #expect(CacheSample.stored(["Cache-Control": "max-age=0, stale-if-error=9"]) != nil)
    }

    @Test(
        "K1: without a lifetime and a validator, a response is stored for a call that accepts an expired one",
        arguments: [
            ([.networkFirst(within: .seconds(1))], "", nil), ([.staleUpTo(.seconds(1))], "", nil),
            ([], "", .noLifetime), ([.staleUpTo(.zero)], "", .noLifetime),
            ([.networkFirst(within: .seconds(1))], "no-store", .forbidden),
            ([.staleUpTo(.seconds(1))], "no-store", .forbidden),
        ] as [([CachePolicy], String, CacheStatus.Reason?)])
    func accepted(policies: [CachePolicy], control: String, expected: CacheStatus.Reason?) {
        let rules = CacheRules(policies, key: nil, tags: [])
        let headers: HTTPHeaders = control.isEmpty ? [:] : ["Cache-Control": control]
        #expect(CacheSample.reason(headers, CacheSample.exchange(rules: rules)) == expected)
    }

    @Test(
        "K7, K14: no-store leaves no trace; must-understand needs a status that is known",
        arguments: [
            ("no-store", 200), ("max-age=60, no-store=\"x\"", 200), ("must-understand, no-store, max-age=60", 200),
            ("must-understand, max-age=60", 599),
        ])
    func forbidden(control: String, status: Int) {
        #expect(CacheSample.reason(["Cache-Control": control], status: status) == .forbidden)
    }

    @Test("K7, K14: a response with a list of more than a thousand elements is not stored")
    func longLists() {
        func reason(_ name: String, _ count: Int) -> CacheStatus.Reason? {
            let list = Array(repeating: "x", count: count).joined(separator: ",")
            var headers: HTTPHeaders = ["Cache-Control": "max-age=60"]
            headers.add(name: name, value: list)
            return CacheSample.reason(headers)
        }
        #expect(reason("Connection", 1000) == nil && reason("Connection", 1001) == .forbidden)
        #expect(reason("Vary", 1000) == nil && reason("Vary", 1001) == .varies)
        // With the lifetime, one more.
        #expect(reason("Cache-Control", 999) == nil && reason("Cache-Control", 1000) == .forbidden)
    }

    @Test("K7: no credential and no field of the connection is stored")
    func fields() throws {
        let headers: HTTPHeaders = [
            "Cache-Control": "max-age=60", "Set-Cookie": "sid=1", "Connection": "X-Hop, close", "X-Hop": "1",
            "Keep-Alive": "5", "Upgrade": "h2", "Transfer-Encoding": "chunked", "Proxy-Authenticate": "Basic",
            "Authentication-Info": "x", "X-Kept": "1", "Trailer": "X",
        ]
        let exchange = CacheSample.exchange(isOfSession: true)
        guard case .store(let stored) = exchange.outcome(of: CacheSample.response(headers)) else {
            Issue.record("not stored")
            return
        }
        #expect(stored.headers.map(\.name) == ["Cache-Control", "X-Kept"])
    }

    // MARK: Vary

    @Test(
        "K3: * matches nothing, in any place, and so does what is no name", arguments: ["*", "Accept, *", ", *", "a b"])
    func variesOnEverything(vary: String) {
        #expect(CacheSample.reason(["Cache-Control": "max-age=60", "Vary": vary]) == .varies)
        var headers: HTTPHeaders = ["Cache-Control": "max-age=60", "Vary": "Accept"]
        headers.add(name: "Vary", value: vary)
        #expect(CacheSample.reason(headers) == .varies)
    }

    @Test("K3: bodies are decoded, so a response does not vary on Accept-Encoding")
    func encoding() throws {
        let stored = try #require(CacheSample.stored(["Cache-Control": "max-age=60", "Vary": "accept-encoding"]))
        #expect(stored.variant == .none)
    }

    @Test(
        "K3: a request matches if each field has the same values, however they are joined",
        arguments: [
            (["A": "1, 2"], ["A": "1,2"], true), (["A": "1"], ["A": "2"], false), (["A": "1"], [:], false),
            ([:], [:], true), ([:], ["A": ""], false), (["A": "1", "B": "x"], ["A": "1", "B": "y"], true),
            (["A": "\"1, 2\""], ["A": "\"1,2\""], false), (["A": "a"], ["A": "A"], false),
            (["A": "1, 2"], ["A": "2, 1"], false),
        ] as [(HTTPHeaders, HTTPHeaders, Bool)])
    func matches(first: HTTPHeaders, second: HTTPHeaders, expected: Bool) throws {
        let headers: HTTPHeaders = ["Cache-Control": "max-age=60", "Vary": "A"]
        let stored = try #require(CacheSample.stored(headers, to: CacheSample.request(first)))
        #expect(stored.variant.matches(second) { _ in false } == expected)
    }

    @Test("K3: what is added below the cache is covered by the session, or the response is not stored")
    func below() throws {
        let request = CacheSample.request(["Accept": "a"])
        let headers: HTTPHeaders = ["Cache-Control": "max-age=60", "Vary": "X-Device"]
        var sent = request
        sent.headers["X-Device"] = "7"
        #expect(CacheSample.reason(headers, CacheSample.exchange(request, sent: sent)) == .addedBelow)
        #expect(CacheSample.reason(["Cache-Control": "max-age=60"], CacheSample.exchange(request, sent: sent)) == nil)
        var signed = request
        signed.headers["Authorization"] = "Bearer secret"
        let varying: HTTPHeaders = ["Cache-Control": "max-age=60", "Vary": "Authorization"]
        #expect(CacheSample.reason(varying, CacheSample.exchange(request, sent: signed)) == .addedBelow)
        let exchange = { CacheSample.exchange(request, sent: $0, signedWith: "secret") }
        #expect(CacheSample.reason(varying, exchange(signed)) == nil)
        signed.headers["DPoP"] = "proof"
        #expect(CacheSample.reason(varying, CacheSample.exchange(request, sent: signed)) == .addedBelow)
        // Only a token that is bound to a key comes with a proof.
        #expect(CacheSample.reason(varying, exchange(signed)) == .addedBelow)
        signed.headers["Authorization"] = "DPoP secret"
        #expect(CacheSample.reason(varying, exchange(signed)) == nil)
    }

    @Test(
        "K7: what is in the place of the token that has signed a request belongs to nobody whom the cache knows",
        arguments: ["Bearer other", "Bearer other secret2", "secret", "Bearer xsecret", "Bearer secret "])
    func replacedToken(authorization: String) {
        var sent = CacheSample.request()
        sent.headers["Authorization"] = authorization
        let exchange = CacheSample.exchange(sent: sent, signedWith: "secret", isOfSession: true)
        #expect(CacheSample.reason(["Cache-Control": "max-age=60"], exchange) == .addedBelow)
    }

    @Test("K7: a header that may say who asks, and was removed below the cache, belongs to nobody whom the cache knows")
    func removed() {
        let request = CacheSample.request(["X-Tenant-Id": "7", "X-Request-Id": "1"])
        var sent = request
        sent.headers["X-Request-Id"] = nil
        let headers: HTTPHeaders = ["Cache-Control": "max-age=60"]
        #expect(CacheSample.reason(headers, CacheSample.exchange(request, sent: sent)) == nil)
        sent.headers["X-Tenant-Id"] = nil
        #expect(CacheSample.reason(headers, CacheSample.exchange(request, sent: sent)) == .addedBelow)
    }

    @Test("K7: a response that sets a cookie is kept for a session only")
    func settingCookie() {
        let headers: HTTPHeaders = ["Cache-Control": "max-age=60, public", "Set-Cookie": "csrf=1"]
        #expect(CacheSample.reason(headers) == .setsCookie)
        #expect(CacheSample.reason(headers, CacheSample.exchange(isOfSession: true)) == nil)
    }

    @Test("K7: a credential that a middleware adds belongs to nobody whom the cache knows", arguments: [nil, "secret"])
    func credentialBelow(token: String?) {
        var sent = CacheSample.request()
        sent.headers["Cookie"] = "sid=1"
        let exchange = CacheSample.exchange(sent: sent, signedWith: token)
        #expect(CacheSample.reason(["Cache-Control": "max-age=60"], exchange) == .addedBelow)
    }

    @Test("K3: a request that was changed on its way, or not sent at all, is not the one that was asked")
    func changed() {
        var other = CacheSample.request()
        other.url = HTTPURL(origin: other.url.origin, path: "/y", query: nil)
        #expect(CacheSample.reason(["Cache-Control": "max-age=60"], CacheSample.exchange(sent: other)) == .addedBelow)
        let unsent = CacheExchange(
            request: CacheSample.request(), sent: nil, rules: CacheRules(), signedWith: nil,
            received: CacheSample.moment(0), delay: .zero, identity: IdentityFields(.standard))
        #expect(CacheSample.reason(["Cache-Control": "max-age=60"], unsent) == .addedBelow)
    }

    // MARK: Confirmations

    private func confirm(
        _ stored: HTTPHeaders, by new: HTTPHeaders, at seconds: Double = 100
    ) throws -> (StoredResponse, CacheStatus.Reason?)? {
        let stored = try #require(CacheSample.stored(stored))
        return CacheSample.exchange(at: seconds).confirmed(stored, by: CacheSample.response(new, status: 304))
    }

    @Test("K4: a 304 renews the lifetime and replaces fields, but not those that describe the body")
    func merged() throws {
        let old: HTTPHeaders = [
            "Cache-Control": "max-age=60", "ETag": "\"1\"", "X-A": "old", "X-B": "old", "Content-Length": "3",
            "Age": "50",
            "Content-Type": "application/json", "Date": CacheSample.date(-50),
        ]
        let new: HTTPHeaders = ["X-A": "new", "Content-Length": "0", "Content-Type": "text/html", "ETag": "W/\"1\""]
        let (updated, problem) = try #require(try confirm(old, by: new))
        #expect(problem == nil && updated.status == 200 && updated.body == Data("[1]".utf8))
        #expect(updated.headers["X-A"] == "new" && updated.headers["X-B"] == "old")
        #expect(updated.headers["Content-Length"] == "3" && updated.headers["Content-Type"] == "application/json")
        #expect(updated.freshness.lifetime == 60)
        #expect(updated.freshness.age(at: CacheSample.moment(130)) == 30)
    }

    @Test("K4: a 304 for another entity tag is about another response", arguments: ["\"2\"", "W/\"2\""])
    func otherTag(tag: String) throws {
        #expect(try confirm(["ETag": "\"1\""], by: ["ETag": tag]) == nil)
    }

    @Test("K4: without a tag, a 304 with another date is about another response")
    func otherDate() throws {
        let (old, new) = (CacheSample.date(-50), CacheSample.date(-40))
        #expect(try confirm(["Last-Modified": old], by: ["Last-Modified": new]) == nil)
        #expect(try confirm(["ETag": "\"1\"", "Last-Modified": old], by: ["Last-Modified": new]) == nil)
        #expect(try confirm(["Last-Modified": old], by: ["Last-Modified": old]) != nil)
        #expect(try confirm(["Last-Modified": old], by: [:]) != nil)
        // The tag decides where there is one.
        let tag: HTTPHeaders = ["ETag": "\"1\"", "Last-Modified": new]
        #expect(try confirm(["ETag": "\"1\"", "Last-Modified": old], by: tag) != nil)
    }

    @Test("K4: weak and strong tags are equal for a 304; a tag that is malformed is none")
    func tags() {
        let (weak, strong): (EntityTag, EntityTag) = ("W/\"x\"", "\"x\"")
        #expect(weak.matchesWeakly(strong) && strong.matchesWeakly(weak) && weak != strong)
        #expect(!strong.matchesWeakly("\"y\""))
        func etag(_ field: String) -> EntityTag? { (["ETag": field] as HTTPHeaders).etag }
        #expect(["x", "\"x", "W/x", "\"a\"b\"", "", "w/\"x\""].allSatisfy { etag($0) == nil })
        #expect(etag("W/\"x\"") == weak)
    }

    @Test("K3: a 304 without Vary keeps it, one with another replaces it, and one with * ends the storing")
    func vary() throws {
        let old: HTTPHeaders = ["ETag": "\"1\"", "Vary": "A"]
        #expect(try confirm(old, by: [:])?.0.variant.names == ["a"])
        #expect(try confirm(old, by: ["Vary": "B"])?.0.variant.names == ["b"])
        let (served, problem) = try #require(try confirm(old, by: ["Vary": "*"]))
        #expect(problem == .varies && served.body == Data("[1]".utf8))
        #expect(try confirm(old, by: ["Cache-Control": "no-store"])?.1 == .forbidden)
    }

    // MARK: Removals

    @Test(
        "K6: each method that is not known to be safe removes its URL, and what it names of the same origin",
        arguments: ["POST", "PUT", "PATCH", "DELETE", "M-SEARCH", "X", "get"] as [HTTPMethod])
    func unsafe(method: HTTPMethod) {
        let headers: HTTPHeaders = [
            "Location": "/y", "Content-Location": "https://other.test/z",
            "Cache-Group-Invalidation": "\"friends\", \"feed\";a=1",
        ]
        let removals = CacheSample.request([:], method).removals(by: CacheSample.response(headers, status: 201))
        let other = HTTPURL(origin: CacheSample.url.origin, path: "/y", query: nil)
        #expect(
            Set(removals) == [
                .resource(.url(CacheSample.url)), .resource(.url(other)), .group("friends", CacheSample.url.origin),
                .group("feed", CacheSample.url.origin),
            ])
    }

    @Test("K6: a failure and a safe method remove nothing; an unknown outcome removes the URL")
    func safe() {
        let headers: HTTPHeaders = ["Cache-Group-Invalidation": "\"friends\"", "Location": "/y"]
        for status in [400, 404, 500, 503] {
            #expect(CacheSample.request([:], .post).removals(by: CacheSample.response(headers, status: status)) == [])
        }
        for status in [502, 504] {
            let removals = CacheSample.request([:], .put).removals(by: CacheSample.response(headers, status: status))
            #expect(removals == [.resource(.url(CacheSample.url))])
        }
        for method: HTTPMethod in [.get, .head, .options, "TRACE", "QUERY"] {
            #expect(CacheSample.request([:], method).removals(by: CacheSample.response(headers)) == [])
        }
        #expect(CacheSample.request([:], .post).removals(by: nil) == [.resource(.url(CacheSample.url))])
    }

    @Test(
        "K6: a request that was redirected has succeeded, so it removes its URL",
        arguments: [(199, false), (200, true), (299, true), (303, true), (399, true), (400, false)])
    func redirected(status: Int, removes: Bool) {
        let removals = CacheSample.request([:], .post).removals(by: CacheSample.response([:], status: status))
        #expect(removals == (removes ? [.resource(.url(CacheSample.url))] : []))
    }

    @Test(
        "K6: groups are strings in a list; anything else is no field",
        arguments: [("\"a\", \"b\"", 2), ("a", 0), ("\"a\", b", 0), ("\"a\"; x, \"a\"", 1)])
    func groups(text: String, count: Int) {
        #expect(CacheGroups.names(in: [text]).count == count)
    }
}
