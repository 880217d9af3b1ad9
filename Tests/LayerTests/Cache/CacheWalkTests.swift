@testable import Errand
import ErrandTestSupport
import Foundation
import Testing

/// A walk over arrangements of headers, against a reading of the rules that is as simple as possible.
@Suite("No arrangement of headers makes a stale response fresh") struct CacheWalkTests {
    @Test("K1, K5, K14, K15: what is served is fresh, or allowed to be stale", arguments: [1, 2, 3])
    func walk(seed: UInt64) {
        let arrangements = LongRun.isWanted ? 20_000 : 4000
        var random = SeededCacheText(seed: seed)
        var counts: [String: Int] = [:]
        for _ in 0..<arrangements {
            let response = Arrangement(&random)
            guard let stored = CacheSample.stored(response.headers) else {
                counts["unstored", default: 0] += 1
                continue
            }
            #expect(!response.forbidsStoring, "\(response.headers)")
            let demand = random.chance(30) ? random.int(0...100) : nil
            let asked: HTTPHeaders = demand.map { ["Cache-Control": "max-age=\($0)"] } ?? [:]
            let seconds = Double(random.int(0...200))
            let wall = random.chance(10) ? Double(random.int(-100...300)) : seconds
            let inquiry = CacheInquiry(CacheSample.request(asked), rules: CacheRules())
            let now = CacheSample.moment(seconds, wall: wall)
            // The true age: what the server says, and the time that has passed since.
            let age = Double(response.age) + seconds
            switch inquiry.decision(on: stored, at: now) {
            case .serve:
                counts["fresh", default: 0] += 1
                #expect(age < Double(response.greatestLifetime), "\(response.headers) after \(seconds) s")
                #expect(!response.mustAsk && age <= Double(demand ?? .max))
                #expect(wall >= seconds - 10)
            case .serveStale:
                counts["stale", default: 0] += 1
                #expect(age < Double(response.greatestLifetime + response.allowance))
                #expect(!response.mustAsk && !response.mustRevalidate && age <= Double(demand ?? .max))
                #expect(wall >= seconds - 10)
            default: counts["asked", default: 0] += 1
            }
        }
        // The walk is of use only if it comes everywhere.
        for kind in ["unstored", "fresh", "stale", "asked"] {
            #expect(counts[kind, default: 0] > arrangements / 67, "\(counts)")
        }
    }

    /// A response whose directives are made up.
    private struct Arrangement {
        var headers: HTTPHeaders = ["ETag": "\"1\""]
        var age = 0
        /// The longest lifetime that any part of it names; the strictest reading is not longer.
        var greatestLifetime = 0
        var allowance = 0
        var (forbidsStoring, mustAsk, mustRevalidate) = (false, false, false)

        init(_ random: inout SeededCacheText) {
            var lifetimes: [Int] = []
            for _ in 0..<random.int(0...2) {
                var elements: [String] = []
                for _ in 0..<random.int(1...3) {
                    let seconds = random.int(0...120)
                    switch random.int(0...11) {
                    case 0: elements.append("private")
                    case 1:
                        elements.append(random.chance(50) ? "no-store" : "no-store=\"x\"")
                        forbidsStoring = true
                    case 2:
                        elements.append(random.chance(50) ? "no-cache" : "no-cache=\"a, b\"")
                        mustAsk = true
                    case 3:
                        elements.append("must-revalidate")
                        mustRevalidate = true
                    case 4, 5:
                        elements.append("stale-while-revalidate=\(seconds)")
                        allowance = max(allowance, seconds)
                    case 6:
                        elements.append("max-age = \(seconds)")
                        lifetimes.append(0)
                    case 7: elements.append("x=\"max-age=\(seconds)\"")
                    default:
                        elements.append("max-age=\(seconds)")
                        lifetimes.append(seconds)
                    }
                }
                headers.add(name: "Cache-Control", value: elements.joined(separator: random.chance(50) ? ", " : " ,"))
            }
            let end = random.int(-20...120)
            if random.chance(30) { headers["Expires"] = random.chance(80) ? CacheSample.date(Double(end)) : "soon" }
            if random.chance(30) {
                age = random.int(0...60)
                headers["Age"] = String(age)
            }
            if random.chance(30) { headers["Date"] = CacheSample.date(Double(-age)) }
            let dated = headers["Date"] == nil ? 0 : age
            greatestLifetime = lifetimes.min() ?? (headers["Expires"] == nil ? 0 : max(0, end + dated))
        }
    }
}
