import ErrandTestSupport
import Foundation
import Testing

@Suite("Mistakes, and what the article about them says", .timeLimit(.minutes(10)))
struct TroubleshootingTests {
    @Test("a mistake leads to the message that the article shows", arguments: Mistake.atRunTime)
    func message(of mistake: Mistake) async throws {
        let expected = try #require(try Article().messages[mistake.heading], "the article does not have it")
        let found = try await mistake.message()
        #expect(Article.matches(found, expected), "\(found)\nThe article shows:\n\(expected)")
    }

    @Test("every message of the article comes from a mistake that a test makes, and each has advice")
    func complete() throws {
        let article = try Article()
        #expect(Mistake.atRunTime.count > 50)
        let made = Mistake.atRunTime.map(\.heading) + MistakesOfTypes.all.map(\.heading)
        #expect(Set(made) == Set(article.messages.keys) && Set(made).count == made.count)
        #expect(article.withoutAdvice.isEmpty)
    }

    @Test("an ellipsis of the article matches any text, and nothing else does")
    func matching() {
        #expect(Article.matches("a b c", "a b c") && Article.matches("a 17 c", "a … c"))
        #expect(Article.matches("a 1 c 2", "a … c …"))
        for (text, pattern) in [("a b c", "a b"), ("x a b", "a …"), ("a c", "a … b"), ("a b", "a … b")] {
            #expect(!Article.matches(text, pattern))
        }
    }
}

/// The article: for each mistake a heading, the message, and what to do.
struct Article {
    /// The messages by their headings.
    private(set) var messages: [String: String] = [:]
    /// The headings of sections that end with the message.
    private(set) var withoutAdvice: [String] = []

    init() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../Docs.docc/Troubleshooting.md")
        for section in try String(contentsOf: file, encoding: .utf8).components(separatedBy: "\n### ").dropFirst() {
            let parts = section.components(separatedBy: "```")
            guard parts.count > 2, parts[1].hasPrefix("text\n"),
                let heading = section.split(separator: "\n").first.map(String.init)
            else { continue }
            messages[heading] = String(parts[1].dropFirst(5)).trimmed
            let advice = parts[2].components(separatedBy: "\n## ")[0]
            if advice.trimmed.isEmpty { withoutAdvice.append(heading) }
        }
    }

    /// Returns whether the text is the pattern, in which an ellipsis stands for any text.
    static func matches(_ text: String, _ pattern: String) -> Bool {
        let parts = pattern.components(separatedBy: "…")
        guard text.hasPrefix(parts[0]) else { return false }
        var rest = text.dropFirst(parts[0].count)
        for (index, part) in parts.enumerated().dropFirst() {
            if index == parts.count - 1 { return rest.hasSuffix(part) }
            guard let found = rest.firstRange(of: part) else { return false }
            rest = rest[found.upperBound...]
        }
        return rest.isEmpty
    }
}
