import Foundation
import Testing

/// Checks that each step of the tutorial builds, and that its result is the code that the tests here run.
@Suite("Tutorial")
struct TutorialCheck {
    private static let here = URL(filePath: #filePath).deletingLastPathComponent()
    private static let catalog = here.deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Docs.docc")

    private static func resource(_ file: String) throws -> String {
        try String(contentsOf: catalog.appending(path: "Resources/\(file)"), encoding: .utf8)
    }

    private let walkthrough: Walkthrough

    init() throws {
        walkthrough = Walkthrough(
            try String(contentsOf: Self.catalog.appending(path: "BuildAService.tutorial"), encoding: .utf8))
    }

    @Test("steps are found, and a file is in the state of its latest one")
    func finding() {
        let walkthrough = Walkthrough(
            """
            @Step { @Code(name: "A.swift", file: "a-1.swift") }
            @Step { @Code(name: "ATests.swift", file: "a-2.swift") }
            @Step { @Code(name: "A.swift", file: "a-3.swift") }
            """)
        let states = walkthrough.states { "text of \($0)" }
        #expect(states.map(\.step.file) == ["a-1.swift", "a-2.swift", "a-3.swift"])
        #expect(states[1].state == ["A.swift": "text of a-1.swift", "ATests.swift": "text of a-2.swift"])
        #expect(states[2].state["A.swift"] == "text of a-3.swift")
        #expect(states[2].state.library == ["A.swift"])
        #expect(states[2].state.tests == ["ATests.swift"])
    }

    @Test("every file of Swift beside the articles is shown by a step, once")
    func everyFile() throws {
        let files = try FileManager.default.contentsOfDirectory(
            atPath: Self.catalog.appending(path: "Resources").path)
        #expect(walkthrough.steps.count > 9, "the tutorial has hardly any steps; are they still found?")
        #expect(walkthrough.steps.map(\.file).sorted() == files.filter { $0.hasSuffix(".swift") }.sorted())
    }

    @Test("what the reader has in the end is what is tested here")
    func end() throws {
        let last = try #require(try walkthrough.states(reading: Self.resource).last).state
        // A test cannot import a package manifest; `compiling()` checks that it compiles.
        for (name, text) in last where name != "Package.swift" {
            let tested = try String(contentsOf: Self.here.appending(path: name), encoding: .utf8)
            #expect(Self.code(of: tested) == Self.code(of: text), "\(name) differs from the tutorial's")
        }
    }

    /// Returns all lines except imports, because the reader's tests import the reader's library.
    private static func code(of text: String) -> [String] {
        text.split(separator: "\n").map(String.init).filter(\.isCode)
    }

    #if os(Linux)
    @Test(
        "after each step the reader's package compiles",
        .enabled(if: Compiler.program != nil, "there is no swiftc in the PATH"), .timeLimit(.minutes(30)))
    func compiling() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "tutorial-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        // A temporary folder that cannot be removed is no reason to fail.
        defer { try? FileManager.default.removeItem(at: folder) }
        let compiler = try Compiler(try #require(Compiler.program), in: folder)
        for (step, state) in try walkthrough.states(reading: Self.resource) {
            let problems = try await compiler.problems(of: state)
            #expect(problems.isEmpty, "\(step)")
        }
        let wrong = ["Package.swift": "let a: Int = true", "A.swift": "let b: Int = true", "ATests.swift": "import B"]
        let found = try await compiler.problems(of: wrong)
        for name in wrong.keys { #expect(found.contains("\(name):1:"), "nothing wrong was found in \(name)") }
    }
    #endif
}
