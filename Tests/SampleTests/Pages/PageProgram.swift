import Foundation

/// A program of the samples of one page, with nothing beside them but the names that the page may use.
///
/// Blocks that declare types, extensions or functions are its declarations; each other block is the body of a function,
/// and one that begins with a setting of a client is the closure of a client. The program is checked by the compiler,
/// and never runs.
struct PageProgram {
    private static let imports = [
        "Errand", "ErrandFleet", "ErrandTesting", "Foundation", "Observation", "Testing",
    ]
    /// Modules for whose samples there is a test of its own, because they are no part of this package.
    private static let foreign = ["Hummingbird", "ServiceLifecycle", "Vapor"]

    /// A block of Swift with its indentation and without its imports.
    private struct Block {
        var file: String
        /// The number of its first line.
        var line: Int
        var lines: [String] = []

        /// Whether its lines without indentation begin declarations, or end them.
        var isDeclaration: Bool {
            let outer = lines.filter { $0.first?.isWhitespace == false }
                .filter { line in !["}", ")", "//", "#"].contains { line.hasPrefix($0) } }
            return !outer.isEmpty && outer.allSatisfy { $0.firstMatch(of: Self.declaration) != nil }
        }

        private static var declaration: Regex<Substring> {
            /^(?:@|(?:(?:private|final|nonisolated|indirect) )*(?:struct|enum|extension|actor|class|protocol|func)\b)/
        }

        /// Its lines, which the compiler reports by their numbers in the page.
        private var located: [String] {
            ["#sourceLocation(file: \"\(file)\", line: \(line))"] + lines + ["#sourceLocation()"]
        }

        var code: [String] {
            if isDeclaration { return located }
            let isSetting = lines.first?.hasPrefix("$0.") == true
            return isSetting
                ? ["func sample\(line)() { _ = APIClient(\"https://api.example.com\") {"] + located + ["} }"]
                : ["func sample\(line)() async throws {"] + located + ["}"]
        }

        /// Whether this program can compile it: it is no manifest, and needs neither SwiftUI nor foreign modules.
        var isCompiled: Bool {
            lines.first?.hasPrefix("// swift-tools-version") == false
                && !lines.contains { line in
                    line.contains(": View {") || PageProgram.foreign.contains { line == "import \($0)" }
                }
        }

        /// Replaces imports by empty lines, so that the numbers of lines stay right.
        mutating func removeImports() {
            lines = lines.map { $0.hasPrefix("import ") || $0.hasPrefix("@testable ") ? "" : $0 }
        }
    }

    private let blocks: [Block]
    private let given: [String]

    /// Whether the page has samples.
    var isEmpty: Bool { blocks.isEmpty }

    /// Creates the program of a page: the path of a file, and a closure that reads the files.
    init(of page: String, reading read: (String) throws -> String) throws {
        let name = page.split(separator: "/").last.map(String.init) ?? page
        let names = PageNames.pages[name] ?? PageNames()
        blocks = Self.blocks(of: try read(page), page)
        let others = (name == "GettingStarted.md" ? [] : ["GettingStarted.md"]) + names.pages
        given =
            try others.flatMap { other in
                let path = "Docs.docc/\(other)"
                return Self.blocks(of: try read(path), path)
                    .filter { $0.isDeclaration && !$0.lines.contains { $0.hasPrefix("@Test") } }.flatMap(\.code)
            } + Self.declarations(of: PageNames.everywhere) + Self.declarations(of: names)
    }

    /// The program as text.
    var text: String {
        let lines =
            Self.imports.map { "import \($0)" } + ["func given<Value>() -> Value { while true {} }"] + given
            + blocks.flatMap(\.code)
        return lines.joined(separator: "\n") + "\n"
    }

    /// A value is a property that is computed, so that it may have any type.
    private static func declarations(of names: PageNames) -> [String] {
        names.names.split(separator: "\n").map { line in
            guard let match = line.wholeMatch(of: /(var )?(\w+): (.+)/) else { return String(line) }
            let (_, isVariable, name, type) = match.output
            let accessors = isVariable == nil ? "given()" : "get { given() } set {}"
            return "var \(name): \(type) { \(accessors) }"
        }
    }

    private static func blocks(of text: String, _ file: String) -> [Block] {
        var blocks: [Block] = []
        var open: Block?
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if open == nil, line == "```swift" {
                open = Block(file: file, line: index + 2)
            } else if line == "```", var block = open {
                let isCompiled = block.isCompiled
                block.removeImports()
                if isCompiled { blocks.append(block) }
                open = nil
            } else {
                open?.lines.append(String(line))
            }
        }
        return blocks
    }
}
