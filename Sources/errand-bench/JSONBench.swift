import ChildProcess
import Errand
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Compares `FastJSONDecoder` with Foundation's `JSONDecoder`. They alternate, so that a slow moment of the machine
/// affects both of them.
enum JSONBench {
    private static let cycles = 15

    static func run(into report: inout Report) throws {
        try compare("list", [JSONCorpora.Item].self, JSONCorpora.list(), repeats: 1, into: &report)
        try compare("timeline", JSONCorpora.Timeline.self, JSONCorpora.timeline(), repeats: 2, into: &report)
        try compare("coordinates", JSONCorpora.Map.self, JSONCorpora.coordinates(), repeats: 1, into: &report)
        try compare("small", JSONCorpora.Small.self, JSONCorpora.small, repeats: 5000, into: &report)
        for model in JSONModels.all { try compare(model, into: &report) }
        try compareErrors(into: &report)
        try compareFirstUse(into: &report)
    }

    private static func compare<Value: Decodable>(
        _ name: String, _ type: Value.Type, _ data: Data, repeats: Int, into report: inout Report
    ) throws {
        let (ours, _, ratio) = try alternate(
            repeats, { _ = try FastJSONDecoder().decode(type, from: data) },
            { _ = try JSONDecoder().decode(type, from: data) })
        report.add(
            "decode.vs_jsondecoder_\(name)", .number(ratio),
            "its speed to that of JSONDecoder, for \(data.count) bytes")
        guard name != "small" else {
            return report.add("decode.small_us", .number(ours * 1e6), "µs for such an object")
        }
        report.add("decode.megabytes_per_s_\(name)", .number(Double(data.count) / ours / 1e6), "megabytes per second")
    }

    private static func compare(_ model: JSONModel, into report: inout Report) throws {
        guard try model.isEqual() else {
            throw Child.Failure(description: "the decoders get different values for \(model.name)")
        }
        let (ours, _, ratio) = try alternate(1, model.ours, model.theirs)
        report.add(
            "decode.vs_jsondecoder_\(model.name)", .number(ratio),
            "its speed to that of JSONDecoder, for \(model.size) bytes in \(Int((ours * 1e6).rounded())) µs")
    }

    private static func compareErrors(into report: inout Report) throws {
        let data = try JSONCorpora.broken()
        func isRefused(_ decode: () throws -> JSONCorpora.Page) throws {
            if (try? decode()) != nil { throw Child.Failure(description: "a broken document was decoded") }
        }
        let (ours, theirs, _) = try alternate(
            500, { try isRefused { try FastJSONDecoder().decode(JSONCorpora.Page.self, from: data) } },
            { try isRefused { try JSONDecoder().decode(JSONCorpora.Page.self, from: data) } })
        report.add("decode.error_us", .number(ours * 1e6), "µs for a document with a wrong type deep inside")
        report.add("decode.error_us_jsondecoder", .number(theirs * 1e6), "the same by JSONDecoder")
    }

    /// Each first use is in a process of its own.
    private static func compareFirstUse(into report: inout Report) throws {
        var (ours, theirs): ([Double], [Double]) = ([], [])
        for _ in 0..<cycles {
            ours.append(try firstUse("ours"))
            theirs.append(try firstUse("theirs"))
        }
        report.add("decode.first_us", .number(median(ours)), "µs for the first object of a type in a process")
        report.add("decode.first_us_jsondecoder", .number(median(theirs)), "the same by JSONDecoder")
    }

    private static func firstUse(_ decoder: String) throws -> Double {
        let child = try Child(Child.own, ["worker", "first", decoder])
        let numbers = child.line().compactMap(Double.init)
        _ = try child.end()
        guard let microseconds = numbers.first else { throw Child.Failure(description: "worker first said nothing") }
        return microseconds
    }

    /// Prints how long the first use of a type takes, in microseconds.
    static func printFirstUse(_ decoder: String) throws {
        let clock = ContinuousClock()
        let duration = try clock.measure {
            if decoder == "ours" {
                _ = try FastJSONDecoder().decode(JSONCorpora.Small.self, from: JSONCorpora.small)
            } else {
                _ = try JSONDecoder().decode(JSONCorpora.Small.self, from: JSONCorpora.small)
            }
        }
        print(duration / .microseconds(1))
    }

    /// Returns how long each operation takes, in seconds, and how many times as long as the first the second takes:
    /// compared pair by pair, since the load of the machine is about the same for both measurements of a pair.
    private static func alternate(
        _ repeats: Int, _ first: () throws -> Void, _ second: () throws -> Void
    ) throws -> (first: Double, second: Double, ratio: Double) {
        let clock = ContinuousClock()
        func seconds(_ body: () throws -> Void) throws -> Double {
            try clock.measure { for _ in 0..<repeats { try body() } } / .seconds(repeats)
        }
        var (ours, theirs): ([Double], [Double]) = ([], [])
        for _ in 0..<cycles {
            ours.append(try seconds(first))
            theirs.append(try seconds(second))
        }
        return (median(ours), median(theirs), median(zip(theirs, ours).map { $0 / $1 }))
    }
}
