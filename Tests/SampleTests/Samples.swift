#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A Swift sample from the documentation.
struct Sample: CustomStringConvertible {
    /// The file, relative to the root of the package.
    var file: String
    /// The number of the sample's first line in the file.
    var line: Int
    /// The lines that are compared: without indentation, blank lines and imports.
    var code: [String]

    var description: String { "\(file):\(line): \(code.first ?? "an empty sample")" }

    /// Whether these lines of code contain the sample as consecutive lines.
    func occurs(in lines: [String]) -> Bool {
        guard !code.isEmpty, lines.count >= code.count else { return false }
        return (0...lines.count - code.count).contains { lines[$0...].starts(with: code) }
    }
}

extension Sample {
    /// Returns the Swift code blocks of a Markdown file.
    static func fenced(in text: String, of file: String) -> [Sample] {
        var samples: [Sample] = []
        var open: Sample?
        for (number, line) in text.numberedLines {
            let fence = line.trimmed
            if open == nil, fence == "```swift" {
                open = Sample(file: file, line: number + 1, code: [])
            } else if fence == "```", let sample = open {
                samples.append(sample)
                open = nil
            } else if line.isCode {
                open?.code.append(line.trimmed)
            }
        }
        // Without this check a block that is never closed would be ignored.
        return samples + (open.map { [$0] } ?? [])
    }

    /// Returns the indented code blocks in the doc comments of a Swift file.
    static func documented(in text: String, of file: String) -> [Sample] {
        var samples: [Sample] = []
        var open: Sample?
        var isAfterBlank = true
        for (number, line) in text.numberedLines {
            let line = line.trimmed
            let comment = line.hasPrefix("///") ? line.dropFirst(3) : nil
            if let comment, comment.hasPrefix("     "), open != nil || isAfterBlank {
                open = open ?? Sample(file: file, line: number, code: [])
                if String(comment).isCode { open?.code.append(String(comment).trimmed) }
            } else if comment?.isEmpty != true, let sample = open {
                samples.append(sample)
                open = nil
            }
            isAfterBlank = comment?.isEmpty ?? true
        }
        return samples
    }
}

extension String {
    var trimmed: String {
        var text = self[...]
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }

    /// Whether the line counts when two samples are compared.
    var isCode: Bool {
        let text = trimmed
        return !text.isEmpty && !text.hasPrefix("import ") && !text.hasPrefix("@testable import ")
    }

    fileprivate var numberedLines: [(Int, String)] {
        split(separator: "\n", omittingEmptySubsequences: false).enumerated().map { ($0 + 1, String($1)) }
    }
}
