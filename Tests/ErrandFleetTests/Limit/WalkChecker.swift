import Errand
import ErrandFleet
import Foundation

/// Checks a walk, apart from the code: it knows the limit, when requests have left, what servers have asked for, and
/// the bytes of the records.
///
/// - No rolling period holds more than the limit, in true time.
/// - In each record the numbers add up to the limit, and none is negative where it must not be. The size of a record
///   depends on the number of its nodes alone.
/// - The revisions of a record ascend.
/// - A process sends nothing from when it learns of a pause, from its own server or from a record that it acts upon,
///   until that is over.
struct WalkChecker {
    /// What differs between the clocks of the processes, and more.
    private static let part = 0.99

    private let permits: Int
    private var costs: [(at: Int64, cost: Int)] = []
    private var lastRevision: FleetRevision?
    /// The ends of the pauses that processes have heard of from their servers, by process.
    private var heard: [Int: [Int64]] = [:]
    /// The ends of the pauses in records, by their marks.
    private var pauses: [UInt64: Int64] = [:]
    /// Until when each process must not send.
    private var bounds: [Int: Int64] = [:]
    private(set) var faults: [String] = []
    private(set) var largestRecord = 0
    /// How many pauses processes have learned of from records.
    private(set) var learnedPauses = 0
    /// The smallest limit that a record has said, because servers refused calls.
    private(set) var lowestLimit: Int

    init(permits: Int) {
        self.permits = permits
        lowestLimit = permits
    }

    /// The instants of the sends, each as often as it costs permits.
    var stamps: [Int64] { costs.flatMap { Array(repeating: $0.at, count: $0.cost) } }
    var sends: Int { costs.count }

    /// Returns the largest number of permits used in any rolling period.
    func largestSum(in period: Duration) -> Int {
        let sorted = costs.sorted { $0.at < $1.at }
        var (start, sum, largest) = (0, 0, 0)
        for entry in sorted {
            sum += entry.cost
            while entry.at - sorted[start].at >= period.wholeNanoseconds {
                sum -= sorted[start].cost
                start += 1
            }
            largest = max(largest, sum)
        }
        return largest
    }

    mutating func sent(_ cost: Int, by process: Int, at now: Int64) {
        costs.append((now, cost))
        if let bound = bounds[process], now < bound {
            note("process \(process) sends at \(now), but it knows of a pause until \(bound)")
        }
    }

    /// Notes a pause that the server has asked a process for.
    mutating func heardPause(_ process: Int, for seconds: Double, at now: Int64) {
        let end = now + Int64(seconds * 1e9 * Self.part)
        heard[process, default: []].append(end)
        bounds[process] = max(bounds[process] ?? 0, end)
    }

    /// Notes that the program of some process has ended the pause: others may learn of that at any time.
    mutating func endedPause(at now: Int64) {
        heard = [:]
        bounds = [:]
        for id in pauses.keys { pauses[id] = min(pauses[id] ?? 0, now) }
    }

    /// Notes that a process is about to write that it pauses: for the longest that its server has asked for.
    mutating func announces(_ id: UInt64, by process: Int, at now: Int64) {
        pauses[id] = heard[process]?.max() ?? 0
    }

    mutating func wrote(_ bytes: [UInt8], _ revision: FleetRevision) {
        if let lastRevision, revision <= lastRevision { note("\(revision) comes after \(lastRevision)") }
        lastRevision = revision
        guard let content = Content(bytes) else {
            return note("\(String(decoding: bytes, as: UTF8.self)) is no record")
        }
        largestRecord = max(largestRecord, bytes.count)
        if content.free + content.aside + content.owned.reduce(0, +) != content.permits || content.permits != permits {
            note("\(content) does not add up")
        }
        if content.owned.contains(where: { $0 < 0 }) || content.free < -content.aside || content.aside < 0
            || content.aside >= permits
        {
            note("\(content) has a wrong number")
        }
        if bytes.count > 200 + 60 * content.owned.count { note("\(content) has \(bytes.count) bytes") }
        lowestLimit = min(lowestLimit, permits - content.aside)
    }

    /// Notes that a process has seen a record, which is the newest that it knows.
    mutating func saw(_ bytes: [UInt8], by process: Int, at now: Int64) {
        guard let id = Content(bytes)?.pauseID, let end = pauses[id], end > now else { return }
        if end > bounds[process] ?? 0 { learnedPauses += 1 }
        bounds[process] = max(bounds[process] ?? 0, end)
    }

    /// Compares what a watch has reported with the records that were written.
    mutating func checkWatch(_ reported: [FleetRecord?], of written: [FleetRevision: [UInt8]]) {
        let records = reported.compactMap { $0 }
        if zip(records, records.dropFirst()).contains(where: { $1.revision < $0.revision }) {
            note("the watch has gone back: \(records.map(\.revision.number))")
        }
        if let wrong = records.first(where: { written[$0.revision] != $0.bytes }) {
            note("nobody has written \(wrong)")
        }
        if records.last?.revision != lastRevision { note("the watch has not reported the last record") }
    }

    mutating func note(_ fault: String) {
        if faults.count < 10 { faults.append(fault) }
    }
}

/// What a record says, read without the code that has written it.
private struct Content: Decodable {
    private struct Node: Decodable {
        let owned: Int

        init(from decoder: any Decoder) throws {
            var values = try decoder.unkeyedContainer()
            _ = try values.decode(String.self)
            owned = values.isAtEnd ? 0 : try values.decode(Int.self)
        }
    }

    private struct Pause: Decodable {
        let id: UInt64
    }

    let permits, free, aside: Int
    private let nodes: [Node]
    private let pause: Pause?

    var owned: [Int] { nodes.map(\.owned) }
    var pauseID: UInt64? { pause?.id }

    init?(_ bytes: [UInt8]) {
        guard let content = try? JSONDecoder().decode(Self.self, from: Data(bytes)) else { return nil }
        self = content
    }
}
