import Errand
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Finds the members in which two JSON values differ.
struct JSONComparison {
    let redactor: Redactor
    private var expected: [String] = []
    private var actual: [String] = []

    init(redactor: Redactor) {
        self.redactor = redactor
    }

    /// The differences found; `nil` if there are none.
    var difference: Difference? {
        expected.isEmpty && actual.isEmpty ? nil : Difference(.body, expected, actual)
    }

    /// Compares the values, and notes each member in which they differ.
    mutating func compare(_ expected: JSONValue, _ actual: JSONValue) {
        compare(expected, actual, at: "", isSecret: false)
    }

    private mutating func compare(_ left: JSONValue?, _ right: JSONValue?, at path: String, isSecret: Bool) {
        switch (left, right) {
        case (.object(let left), .object(let right)):
            for name in Set(left.keys).union(right.keys).sorted() {
                compare(
                    left[name], right[name], at: path.isEmpty ? name : "\(path).\(name)",
                    isSecret: isSecret || redactor.isSecret(member: name))
            }
        case (.array(let left), .array(let right)):
            for index in 0..<max(left.count, right.count) {
                compare(
                    left.indices.contains(index) ? left[index] : nil,
                    right.indices.contains(index) ? right[index] : nil, at: "\(path)[\(index)]", isSecret: isSecret)
            }
        default:
            guard !Self.isSame(left, right) else { return }
            let name = path.isEmpty ? "" : "\(path): "
            if let left { expected.append((name + Self.text(left)).shortened) }
            guard let right else { return }
            // A value that the script names may be shown; everything else comes from the code that is tested.
            let isHidden = isSecret && left == nil
            actual.append(
                (name + (isHidden ? Redactor.mask : Self.text(masked(right, isNamed: left != nil)))).shortened)
        }
    }

    private static func isSame(_ left: JSONValue?, _ right: JSONValue?) -> Bool {
        if left == right { return true }
        // The same number may be read with and without a fraction. Two whole numbers are compared exactly, above.
        guard left?.integer == nil || right?.integer == nil, let left = left?.number, let right = right?.number else {
            return false
        }
        return left == right
    }

    /// Returns the value without the secrets in it.
    private func masked(_ value: JSONValue, isNamed: Bool) -> JSONValue {
        switch value {
        case .string(let text): isNamed ? value : .string(redactor.text(text))
        case .array(let elements): .array(elements.map { masked($0, isNamed: false) })
        case .object(let members):
            .object(
                Dictionary(
                    uniqueKeysWithValues: members.map { name, member in
                        (
                            name,
                            redactor.isSecret(member: name) ? .string(Redactor.mask) : masked(member, isNamed: false)
                        )
                    }))
        default: value
        }
    }

    private static func text(_ value: JSONValue) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(value)).map { String(decoding: $0, as: UTF8.self) } ?? "\(value)"
    }

    /// Returns the text in quotation marks, with control characters escaped.
    static func quoted(_ text: String) -> String { Self.text(.string(text)) }
}
