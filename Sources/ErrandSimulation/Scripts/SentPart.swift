import Errand
#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

/// A part of a form: as it was sent, or as a script expects it.
package struct SentPart: Sendable {
    /// The names are as they are sent, with escapes.
    package let name: String
    package let filename: String?
    package let type: String?
    /// `nil` in a script for any content, and for a file that cannot be read.
    package let content: Data?
    /// Whether the content is JSON, which is compared as JSON.
    var isJSON = false
    /// What is wrong with the script's part.
    var problem: String?

    /// Creates the part that a script expects.
    init(expected part: MultipartForm.Part) {
        name = part.escapedName
        filename = part.escapedFilename
        switch part.content {
        case .text(let text): (content, type) = (Data(text.utf8), nil)
        case .data(let data): (content, type) = (data, part.contentType)
        case .stream: (content, type) = (nil, part.contentType)
        case .json(let value):
            (content, type, isJSON) = (try? JSONEncoder().encode(value), "application/json", true)
            if content == nil { problem = "a value that is not valid JSON" }
        case .file(let place):
            (content, type) = (try? Data(contentsOf: URL(filePath: "\(place)")), part.contentType)
            if content == nil { problem = "the script's file \(place), which cannot be read" }
        }
    }

    private init(name: String, filename: String?, type: String?, content: Data) {
        self.name = name
        self.filename = filename
        self.type = type
        self.content = content
    }

    /// Reads a form, whose first line is the boundary; `nil` if it is none.
    package static func parts(of body: Data) -> [SentPart]? {
        let lineBreak = Data("\r\n".utf8)
        guard body.starts(with: Data("--".utf8)), let first = body.firstRange(of: lineBreak) else { return nil }
        // A form without parts is only its end.
        if body.endIndex == first.upperBound, body.dropLast(2).suffix(2) == Data("--".utf8) { return [] }
        let boundary = lineBreak + body[..<first.lowerBound]
        var rest = (lineBreak + body)[...]
        var parts: [SentPart] = []
        while rest.starts(with: boundary) {
            rest = rest.dropFirst(boundary.count)
            if rest.elementsEqual(Data("--\r\n".utf8)) { return parts }
            guard rest.starts(with: lineBreak), let end = rest.firstRange(of: boundary),
                let part = part(rest[..<end.lowerBound].dropFirst(lineBreak.count))
            else { return nil }
            parts.append(part)
            rest = rest[end.lowerBound...]
        }
        // The last boundary ends with two hyphens.
        return nil
    }

    private static func part(_ bytes: Data) -> SentPart? {
        guard let end = bytes.firstRange(of: Data("\r\n\r\n".utf8)) else { return nil }
        var (name, filename, type) = (String?.none, String?.none, String?.none)
        for line in String(decoding: bytes[..<end.lowerBound], as: UTF8.self).split(separator: "\r\n") {
            if line.hasPrefix("Content-Type: ") { type = String(line.dropFirst(14)) }
            guard line.hasPrefix("Content-Disposition: form-data; ") else { continue }
            name = value(of: "; name", in: line)
            filename = value(of: "; filename", in: line)
        }
        return name.map { SentPart(name: $0, filename: filename, type: type, content: Data(bytes[end.upperBound...])) }
    }

    /// Returns a parameter in quotation marks, which it cannot contain.
    private static func value(of name: String, in line: Substring) -> String? {
        guard let start = line.firstRange(of: "\(name)=\"") else { return nil }
        return String(line[start.upperBound...].prefix { $0 != "\"" })
    }
}

/// Finds the parts in which two forms differ.
struct MultipartComparison {
    let redactor: Redactor

    /// Returns the parts that are missing, different or too many; `nil` if there are none.
    func difference(_ expected: [SentPart], _ sent: [SentPart]) -> Difference? {
        var extra = sent
        let unmatched = expected.filter { part in
            guard let index = extra.firstIndex(where: { matches(part, $0) }) else { return true }
            extra.remove(at: index)
            return false
        }
        var (missing, added): ([String], [String]) = ([], [])
        for part in unmatched {
            missing.append(text(part, isNamed: true))
            guard let index = extra.firstIndex(where: { $0.name == part.name }) else { continue }
            let other = extra.remove(at: index)
            let text = text(other, isNamed: true)
            let place = part.content?.firstDifference(from: other.content ?? Data())
            added.append(text == missing.last ? "\(text), which differ from byte \(place ?? 0) on" : text)
        }
        added += extra.map { text($0, isNamed: false) }
        return missing.isEmpty && added.isEmpty ? nil : Difference(.body, missing, added)
    }

    private func matches(_ expected: SentPart, _ sent: SentPart) -> Bool {
        guard expected.problem == nil, expected.name == sent.name, expected.filename == sent.filename,
            expected.type == sent.type
        else { return false }
        guard let content = expected.content, let other = sent.content, content != other else { return true }
        guard expected.isJSON, let left = JSONValue(reading: content), let right = JSONValue(reading: other) else {
            return false
        }
        var comparison = JSONComparison(redactor: redactor)
        comparison.compare(left, right)
        return comparison.difference == nil
    }

    /// The part as one line: `photo: sunset.jpg, image/jpeg, 3 bytes`, or `title: "Sunset"`.
    private func text(_ part: SentPart, isNamed: Bool) -> String {
        let facts = [part.filename, part.type].compactMap(\.self)
        let content: String
        if let problem = part.problem {
            content = problem
        } else if !isNamed, redactor.isSecret(parameter: part.name) {
            content = Redactor.mask
        } else if let bytes = part.content, facts.isEmpty || part.isJSON || part.type == "application/json",
            let text = String(validating: bytes, as: UTF8.self)
        {
            content = JSONComparison.quoted(isNamed ? text : redactor.text(text))
        } else {
            content = part.content.map { "\($0.count) bytes" } ?? "any content"
        }
        return "\(part.name): \((facts + [content]).joined(separator: ", "))".shortened
    }
}
