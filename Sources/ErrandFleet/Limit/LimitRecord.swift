import Errand

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Who owns the permits of a limit: the record that all nodes share.
///
/// Its size depends on the number of nodes alone. In every record `free`, `aside` and what the nodes own add up to
/// `permits`.
struct LimitRecord: Codable, Hashable, Sendable {
    /// A node that owns permits or waits for some.
    struct Node: Codable, Hashable, Sendable {
        let id: String
        /// The permits that it owns.
        var owned = 0
        /// The permits that it would like to own; more than `owned` while calls wait.
        var wants = 0
        /// The permits that its next call takes together.
        var cost = 1
        /// Its part of the limit, relative to other nodes.
        var weight = 1

        var isShort: Bool { wants > owned }

        init(id: String) {
            self.id = id
        }
    }

    /// A pause that a server has asked for.
    struct Pause: Codable, Hashable, Sendable {
        let id: UInt64
        /// How long it lasts from when a node first sees it.
        var milliseconds: Int
    }

    /// The version of the format. A node leaves a record of a later version alone.
    var version = LimitRecord.currentVersion
    /// The permits of the limit.
    var permits: Int
    /// The period in nanoseconds.
    let period: Int64
    /// The longest lifetime of the nodes in the record, in nanoseconds. A node that takes over another one's permits
    /// waits for it, because the owner's may be longer than its own.
    var lifetime: Int64 = 0
    /// The permits that no node owns. It is negative after the limit was lowered, until nodes have returned so many.
    var free: Int
    /// The permits that are set aside because the server has refused calls.
    var aside = 0
    /// All nodes with permits or with calls that wait, those first that are next when there are too few permits.
    var nodes: [Node] = []
    var pause: Pause?

    static let currentVersion = 1

    init(permits: Int, period: Duration) {
        self.permits = permits
        self.period = period.wholeNanoseconds
        free = permits
    }

    /// What each node owns that owns anything.
    var owners: [String: Int] {
        // A record that somebody else has written may name a node twice.
        Dictionary(nodes.filter { $0.owned > 0 }.map { ($0.id, $0.owned) }) { first, _ in first }
    }

    /// Returns what a node owns.
    func owned(by id: String) -> Int { node(id)?.owned ?? 0 }

    func node(_ id: String) -> Node? { nodes.first { $0.id == id } }

    /// Changes the entry of a node, which is appended if there is none, and removed if it says nothing.
    mutating func update(_ id: String, _ change: (inout Node) -> Void) {
        let index = nodes.firstIndex { $0.id == id }
        var node = index.map { nodes[$0] } ?? Node(id: id)
        change(&node)
        let isEmpty = node.owned == 0 && node.wants == 0
        switch index {
        case let index? where isEmpty: nodes.remove(at: index)
        case let index?: nodes[index] = node
        case nil: if !isEmpty { nodes.append(node) }
        }
    }

    /// Notes the lifetime of a node that is in the record. Without other nodes, no longer one counts any more.
    mutating func note(_ own: Duration, of id: String) {
        guard node(id) != nil else { return }
        let hasOthers = nodes.contains { $0.id != id }
        lifetime = max(own.wholeNanoseconds, hasOthers ? lifetime : 0)
    }

    /// Puts a node behind all others.
    mutating func moveToEnd(_ id: String) {
        guard let index = nodes.firstIndex(where: { $0.id == id }) else { return }
        nodes.append(nodes.remove(at: index))
    }

    /// The greatest number of a record: that of a limit.
    private static let largest = Int(Int32.max)

    /// Whether the numbers fit each other. A record that somebody else has written could be anything.
    var isSound: Bool {
        var sum = 0
        for part in [free, aside] + nodes.map(\.owned) {
            let (next, overflow) = sum.addingReportingOverflow(part)
            if overflow { return false }
            sum = next
        }
        return sum == permits && (1...Self.largest).contains(permits) && period > 0 && aside >= 0 && lifetime >= 0
            && nodes.allSatisfy { node in
                node.owned >= 0 && (0...Self.largest).contains(node.wants) && (1...Self.largest).contains(node.cost)
                    && node.weight > 0
            }
            && Set(nodes.map(\.id)).count == nodes.count
    }

    /// Returns how many permits each node should own, in the order of `nodes`.
    ///
    /// No node gets more than it wants, and each gets at least what its next call takes, in order, as long as there are
    /// enough. Within that, the parts are as the weights. A node whose calls do not wait counts as wanting what it has.
    func targets() -> [Int] {
        let demands = nodes.map { max($0.owned, $0.wants) }
        var targets = nodes.map { _ in 0 }
        var left = permits - aside
        for index in nodes.indices where demands[index] > 0 {
            let first = min(demands[index], nodes[index].cost)
            // A node that needs more than is left is not passed over by those behind it.
            guard first <= left else { return targets }
            targets[index] = first
            left -= first
        }
        guard left > 0 else { return targets }
        // All get the same number for each unit of their weight: as many whole ones as possible, then as large a part
        // of one. What rounding leaves goes to those that are first.
        let (least, total) = (targets, permits - aside)
        let heaviest = nodes.map(\.weight).max() ?? 1
        func part(_ index: Int, _ whole: Int, _ numerator: Int) -> Int {
            let weight = nodes[index].weight
            let (product, overflow) = whole.multipliedReportingOverflow(by: weight)
            let (sum, isTooLarge) = product.addingReportingOverflow(numerator * weight / heaviest)
            return max(least[index], min(overflow || isTooLarge ? .max : sum, demands[index]))
        }
        func fits(_ whole: Int, _ numerator: Int) -> Bool {
            var left = total
            return nodes.indices.allSatisfy { index in
                left -= part(index, whole, numerator)
                return left >= 0
            }
        }
        let whole = (0..<total).last(meeting: { fits($0, 0) })
        let numerator = (0..<heaviest).last(meeting: { fits(whole, $0) })
        for index in nodes.indices { targets[index] = part(index, whole, numerator) }
        left = total - targets.reduce(0, +)
        for index in nodes.indices where left > 0 && part(index, whole, numerator + 1) > targets[index] {
            targets[index] += 1
            left -= 1
        }
        return targets
    }
}

extension Range<Int> {
    /// Returns the last number that meets a condition, by bisection: the first one has to meet it, and none does behind
    /// one that does not.
    fileprivate func last(meeting condition: (Int) -> Bool) -> Int {
        var (low, high) = (lowerBound, upperBound)
        while high - low > 1 {
            let middle = low + (high - low) / 2
            if condition(middle) { low = middle } else { high = middle }
        }
        return low
    }
}

// A node is a list without the values at its end that are usual, because every node receives every change: of a hundred
// nodes, each has some forty bytes.
extension LimitRecord.Node {
    init(from decoder: any Decoder) throws {
        var list = try decoder.unkeyedContainer()
        id = try list.decode(String.self)
        owned = try list.decodeIfPresent(Int.self) ?? 0
        wants = try list.isAtEnd ? 0 : list.decode(Int.self)
        cost = try list.isAtEnd ? 1 : list.decode(Int.self)
        let part = try list.isAtEnd ? 1 : list.decode(Int.self)
        weight = min(part, SharedLimitSettings.weights.upperBound)
    }

    func encode(to encoder: any Encoder) throws {
        var list = encoder.unkeyedContainer()
        try list.encode(id)
        let values = [(owned, 0), (wants, 0), (cost, 1), (weight, 1)]
        let count = (values.lastIndex { $0.0 != $0.1 } ?? -1) + 1
        for value in values.prefix(count) { try list.encode(value.0) }
    }
}

extension LimitRecord {
    /// Reads a record from the store. Throws if it is not one.
    init(_ bytes: [UInt8], key: String) throws(FleetStoreError) {
        guard let record = try? JSONDecoder().decode(LimitRecord.self, from: Data(bytes)) else {
            throw FleetStoreError(.damaged, "What the store has under \(key) is not the record of a limit")
        }
        guard record.version > Self.currentVersion || record.isSound else {
            throw FleetStoreError(.damaged, "The numbers of the limit under \(key) do not fit each other")
        }
        self = record
    }

    /// The record as JSON.
    func encoded() throws(FleetStoreError) -> [UInt8] {
        do {
            return try [UInt8](JSONEncoder().encode(self))
        } catch {
            throw FleetStoreError(.invalid, "The record of a limit cannot be encoded: \(error)")
        }
    }

    /// Returns why a node cannot share this limit; `nil` if it can.
    func conflict(with settings: SharedLimitSettings, name: String) -> String? {
        if version > Self.currentVersion {
            return "a later version of Errand has written the limit \(name); update this program"
        }
        guard hasOtherPeriod(than: settings), !nodes.isEmpty else { return nil }
        return "the limit \(name) of the fleet has another period; all nodes must use the same, or another name"
    }

    /// Returns what calls wait for, if the record is about to be replaced.
    func wait(with settings: SharedLimitSettings, name: String) -> String? {
        guard hasOtherPeriod(than: settings), nodes.isEmpty else { return nil }
        return "the limit \(name) of the fleet has had another period; calls wait until the longer one is over"
    }

    private func hasOtherPeriod(than settings: SharedLimitSettings) -> Bool {
        version <= Self.currentVersion && period != settings.period.wholeNanoseconds
    }
}
