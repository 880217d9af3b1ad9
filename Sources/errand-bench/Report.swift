import Synchronization

/// The figures of a run, with the keys of the JSON output.
struct Report {
    enum Value {
        case number(Double)
        case count(Int)
        case truth(Bool)
    }

    private var lines: [(key: String, value: Value, meaning: String)] = []

    mutating func add(_ key: String, _ value: Value, _ meaning: String) {
        lines.append((key, value, meaning))
    }

    /// The report as one JSON object.
    var json: String {
        "{" + lines.map { "\"\($0.key)\": \(text(of: $0.value))" }.joined(separator: ", ") + "}"
    }

    /// The report as a table for people.
    var table: String {
        let keyWidth = lines.map(\.key.count).max() ?? 0
        let valueWidth = lines.map { text(of: $0.value).count }.max() ?? 0
        return lines.map { line in
            let value = text(of: line.value)
            let padding = String(repeating: " ", count: valueWidth - value.count)
            return line.key + String(repeating: " ", count: keyWidth - line.key.count)
                + "  \(padding)\(value)  \(line.meaning)"
        }.joined(separator: "\n")
    }

    private func text(of value: Value) -> String {
        switch value {
        case .number(let number): String((number * 1000).rounded() / 1000)
        case .count(let count): String(count)
        case .truth(let truth): String(truth)
        }
    }
}

/// Returns how long an operation takes, in seconds.
@concurrent
func seconds(_ body: @Sendable () async throws -> Void) async rethrows -> Double {
    let clock = ContinuousClock()
    let duration = try await clock.measure { try await body() }
    return Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
}

/// Returns the median, which is the most reliable figure on a noisy machine.
func median(_ values: [Double]) -> Double {
    values.sorted()[values.count / 2]
}

/// A counter that several tasks increment.
final class Counter: Sendable {
    private let number = Atomic(0)

    var value: Int { number.load(ordering: .relaxed) }

    func add(_ count: Int) {
        number.add(count, ordering: .relaxed)
    }
}
