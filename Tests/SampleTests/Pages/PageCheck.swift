#if os(Linux)
import ErrandTestSupport
import Foundation
import Testing

/// Checks that the samples of a page suffice: that a reader who has the page, and what it refers to, can compile them.
@Suite("Pages", .timeLimit(.minutes(10)))
struct PageCheck {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    private static var pages: [String] {
        let articles = ["Docs.docc", "Docs.docc/Types"].flatMap { folder in
            let names = try? FileManager.default.contentsOfDirectory(atPath: root.appending(path: folder).path)
            return (names ?? []).filter { $0.hasSuffix(".md") && !PageNames.excluded.contains($0) }.sorted()
                .map { "\(folder)/\($0)" }
        }
        return ["README.md"] + articles
    }

    private static func read(_ file: String) throws -> String {
        try String(contentsOf: root.appending(path: file), encoding: .utf8)
    }

    private func errors(of program: String) async throws -> String {
        let folder = FileManager.default.temporaryDirectory.appending(path: "page-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        // A temporary folder that cannot be removed is no reason to fail.
        defer { try? FileManager.default.removeItem(at: folder) }
        return try await Compiler(try #require(Compiler.program), in: folder).errors(ofPage: program)
    }

    @Test(
        "the samples of a page compile with the names that it has", .enabled(if: Compiler.program != nil),
        arguments: pages)
    func samples(of page: String) async throws {
        let program = try PageProgram(of: page, reading: Self.read)
        guard !program.isEmpty else { return }
        let errors = try await errors(of: program.text)
        #expect(errors.isEmpty, "\(errors)")
    }

    @Test("pages are found, each entry of the list is about one of them, and none has more than ten names")
    func list() throws {
        let names = Set(Self.pages.map { $0.split(separator: "/").last.map(String.init) ?? $0 })
        #expect(names.count > 25)
        #expect(names.isSuperset(of: PageNames.pages.keys))
        #expect(names.isSuperset(of: PageNames.pages.values.flatMap(\.pages)))
        #expect(PageNames.pages.allSatisfy { $0.value.names.split(separator: "\n").count <= 10 })
    }

    @Test("a name that a page does not have is found", .enabled(if: Compiler.program != nil))
    func unknown() async throws {
        let page = "# A\n\n```swift\nlet friends = try await client.run(.strangers)\n```\n"
        let program = try PageProgram(of: "A.md") { $0 == "A.md" ? page : try Self.read($0) }
        let errors = try await errors(of: program.text)
        #expect(errors.contains("A.md:4:") && errors.contains("strangers"), "\(errors)")
    }
}
#endif
