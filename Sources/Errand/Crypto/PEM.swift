#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Text with named blocks of bytes (RFC 7468), in which files have keys and certificates.
enum PEM {
    /// Returns the blocks of a text, in order.
    static func blocks(in text: String) -> [(label: String, bytes: [UInt8])] {
        var blocks: [(label: String, bytes: [UInt8])] = []
        var label: String?
        var content = ""
        for line in text.split(whereSeparator: \.isNewline).map(\.trimmed) {
            if let name = line.between("-----BEGIN ", "-----") {
                (label, content) = (name, "")
            } else if let name = line.between("-----END ", "-----") {
                if name == label, let data = Data(base64Encoded: content) { blocks.append((name, Array(data))) }
                label = nil
            } else if label != nil {
                content += line
            }
        }
        return blocks
    }
}

extension Substring {
    /// Returns what is between a beginning and an end; `nil` if the text has another.
    fileprivate func between(_ start: String, _ end: String) -> String? {
        guard hasPrefix(start), hasSuffix(end), utf8.count >= start.utf8.count + end.utf8.count else { return nil }
        return String(dropFirst(start.count).dropLast(end.count))
    }
}
