@testable import Errand
import Testing

@Suite("Cache-Control in its strictest reading") struct CacheControlTests {
    private func read(_ values: String...) -> CacheControl { CacheControl(values) }

    @Test(
        "K14: lifetimes: the smallest counts, and what is malformed is zero",
        arguments: [
            ("max-age=5", 5), ("MAX-Age=5", 5), ("max-age=\"5\"", 5), ("max-age=99999999999999999999", .max),
            ("max-age=5, max-age=3", 3), ("max-age=3, max-age=5", 3), ("max-age=5,,  ,private", 5),
            ("max-age", 0), ("max-age=", 0), ("max-age=\"\"", 0), ("max-age=-1", 0), ("max-age=+5", 0),
            ("max-age=5.5", 0), ("max-age=5s", 0), ("max-age=a5", 0), ("max-age='5'", 0), ("max-age = 5", 0),
            ("max-age =5", 0), ("max-age= 5", 0), ("max-age=5 5", 0), ("max-age=5;x", 0), ("max-age=5, max-age=x", 0),
            ("max-age=\"5", 0), ("max-age=\"5\"5", 0), ("\"max-age=5\"", 0), ("x max-age=5", 0),
            ("s-maxage=9, max-age=2", 2), ("ext=\"max-age=9\", max-age=2", 2), ("ext=\"a\\\", max-age=9\"", nil),
            ("s-maxage=9", nil), ("", nil), (",", nil), ("public", nil),
        ] as [(String, Int64?)])
    func lifetimes(text: String, expected: Int64?) {
        #expect(read(text).maxAge == expected)
    }

    @Test("K14: too many directives are no-store")
    func many() {
        let directives = Array(repeating: "max-age=5", count: 1000)
        #expect(!CacheControl(directives).noStore)
        #expect(CacheControl(directives + ["a"]).noStore)
        let words = String(repeating: "a=b;", count: 500)
        #expect(!CacheControl([words]).noStore)
        #expect(CacheControl([words + "a"]).noStore)
    }

    @Test("K14: of several fields, each holds")
    func lines() {
        let control = read("max-age=60", "no-cache", "max-age=30")
        #expect(control.maxAge == 30 && control.noCache && !control.noStore)
    }

    @Test(
        "K14: a restriction holds whatever stands around it",
        arguments: [
            "no-store", "NO-STORE", "no-store=1", "no-store=\"\"", "no-store=\"x, y\"", "no-store =1", "no-store foo",
            "max-age=5; no-store", "foo=\"bar, no-store", "foo=bar\", no-store, baz=\"", "no-store;", " ,, no-store",
            "=no-store", "max-age=5 no-store", "no-store, no-store=0",
        ])
    func restrictions(text: String) {
        #expect(read(text).noStore)
        #expect(read(text.replacing("no-store", with: "no-cache").replacing("NO-STORE", with: "No-Cache")).noCache)
        #expect(read(text.lowercased().replacing("no-store", with: "must-revalidate")).mustRevalidate)
    }

    @Test("K14: what is quoted well is no directive; names that only begin alike are none either")
    func others() {
        #expect(!read("ext=\"no-store\"").noStore)
        #expect(!read("no-stored, xno-store, no-store-x").noStore)
        #expect(read("no-cache=\"Set-Cookie\"").noCache)
    }

    @Test("K14: a malformed permission grants nothing")
    func permissions() {
        #expect(read("stale-while-revalidate=x").staleWhileRevalidate == 0)
        #expect(read("stale-if-error=60, stale-if-error").staleIfError == 0)
        #expect(read("stale-if-error=60, stale-if-error=30").staleIfError == 30)
        #expect(read("max-stale").maxStale == .max)
        #expect(read("max-stale=x").maxStale == 0)
        #expect(read("max-stale, max-stale=5").maxStale == 5)
    }

    @Test("K2: the freshness that a request demands is the greatest, and all of it if it is malformed")
    func demands() {
        #expect(read("min-fresh=5, min-fresh=9").minFresh == 9)
        #expect(read("min-fresh").minFresh == .max)
        #expect(read("min-fresh=x").minFresh == .max)
        #expect(read("min-fresh=1").isDemanding && read("max-age=9").isDemanding && read("no-cache").isDemanding)
        #expect(!read("max-stale=9, only-if-cached").isDemanding)
    }

    @Test("K14: a restriction survives any text around it, and no text grants more than its numbers")
    func anything() {
        var random = SeededCacheText(seed: 7)
        for _ in 0..<5000 {
            let text = random.text()
            let control = read(text + ", no-store", "max-age=5")
            // An open quotation mark before it has swallowed the comma, and not the restriction.
            #expect(control.noStore, "\(text)")
            #expect(control.maxAge.map { $0 <= 5 } ?? false, "\(text)")
        }
    }
}
