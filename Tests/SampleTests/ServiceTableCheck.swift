import Foundation
import Testing

/// Checks that every test that the tables of the services name exists.
@Suite("The tables of the services")
struct ServiceTableCheck {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    @Test("every test that they name is there, and every row names one")
    func tests() throws {
        let article = try String(contentsOf: Self.root.appending(path: "Docs.docc/Services.md"), encoding: .utf8)
        let there = try Self.namesOfTests()
        var suites = 0
        for line in article.split(separator: "\n").map(String.init) {
            if line.hasPrefix("Suites ") {
                let names = line.split(separator: "\"").map(String.init).filter { $0.contains(", ") }
                #expect(names.filter(there.contains).count == 2, "no such suites: \(line)")
                suites += 1
            } else if line.hasPrefix("| "), !line.hasPrefix("| feature") {
                let names = line.split(separator: "“").dropFirst().map { String($0.prefix { $0 != "”" }) }
                #expect(!names.isEmpty, "a feature without a test: \(line)")
                // `there` is not part of the expectation, because a failure would print the whole set.
                #expect(names.filter { !there.contains($0) } == [])
            }
        }
        #expect(suites == 4)
    }

    /// Returns the names of tests and suites: the text in quotation marks after the attribute.
    private static func namesOfTests() throws -> Set<String> {
        let folder = root.appending(path: "Tests")
        let files = try #require(FileManager.default.enumerator(atPath: folder.path))
        var names: Set<String> = []
        for file in files.compactMap({ $0 as? String }) where file.hasSuffix(".swift") {
            let text = try String(contentsOf: folder.appending(path: file), encoding: .utf8)
            // The name may be on a line of its own below `@Test(`.
            names.formUnion(text.split(separator: "\n").compactMap(\.textInMarks))
        }
        return names
    }
}

extension Substring {
    /// The text in quotation marks at the beginning of a line, after an attribute if there is one.
    fileprivate var textInMarks: String? {
        let parts = split(separator: "\"", omittingEmptySubsequences: false)
        guard parts.count >= 3 else { return nil }
        let before = parts[0].filter { !$0.isWhitespace }
        return ["@Test(", "@Suite(", ""].contains(before) ? String(parts[1]) : nil
    }
}
