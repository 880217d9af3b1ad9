import Foundation
import Testing

/// Checks that the samples of the documentation are compiled in this target.
///
/// Each block of Swift in README, in an article and in a documentation comment has to stand in a file of this target,
/// line by line, so the compiler has seen it and a test can run it. That says nothing about the names in it, which the
/// file may take from anywhere. `PageCheck` does: it compiles each page alone, with the names of `PageNames`.
@Suite("Samples")
struct SampleCheck {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    @Test("every block of Swift in README and the articles is compiled here")
    func articles() throws {
        let files = try ["README.md"] + Self.files(below: "Docs.docc", ending: ".md")
        let samples = try files.flatMap { try Sample.fenced(in: Self.read($0), of: $0) }
        // This manifest imports what no test can import; `.ci/run` builds that package.
        try check(samples.filter { $0.code.first?.hasPrefix("// swift-tools-version") != true })
    }

    @Test("every sample in a doc comment is compiled here")
    func docComments() throws {
        let samples = try Self.files(below: "Sources", ending: ".swift")
            .flatMap { try Sample.documented(in: Self.read($0), of: $0) }
        try check(samples)
    }

    private func check(_ samples: [Sample]) throws {
        #expect(samples.count > 5, "the documentation has hardly any samples; are they still found?")
        let files =
            try Self.files(below: "Tests/SampleTests", ending: ".swift")
            + Self.files(below: "Tests/ServerStubs", ending: "Samples.swift")
        let compiled =
            try files
            .map { try Self.read($0).split(separator: "\n").map(String.init).filter(\.isCode).map(\.trimmed) }
        for sample in samples {
            #expect(compiled.contains { sample.occurs(in: $0) }, "not compiled by a test: \(sample)")
        }
    }

    @Test("a sample is found, and distinguished from one that differs")
    func finding() throws {
        let fenced = Sample.fenced(in: "# A\n```swift\nimport Errand\n\n  let a = 1\nlet b = 2\n```\n", of: "A.md")
        let first = try #require(fenced.first)
        #expect(first.description == "A.md:3: let a = 1")
        #expect(first.occurs(in: ["x", "let a = 1", "let b = 2"]))
        #expect(!first.occurs(in: ["let a = 1", "x", "let b = 2"]))
        #expect(!first.occurs(in: ["let a = 1"]))
        let comment = "/// Text.\n///\n///     let a = 1\n///\n///     let b = 2\n///\n/// More.\nlet c = 3\n"
        let documented = try #require(Sample.documented(in: comment, of: "A.swift").first)
        #expect(documented.code == ["let a = 1", "let b = 2"])
        #expect(documented.line == 3)
        #expect(Sample.documented(in: "///   - leeway: How\n///     long.\nvar a = 1\n", of: "A.swift").isEmpty)
    }

    private static func read(_ file: String) throws -> String {
        try String(contentsOf: root.appending(path: file), encoding: .utf8)
    }

    private static func files(below folder: String, ending: String) throws -> [String] {
        let names = try #require(FileManager.default.enumerator(atPath: root.appending(path: folder).path))
        return names.compactMap { $0 as? String }.filter { $0.hasSuffix(ending) }.sorted().map { "\(folder)/\($0)" }
    }
}
