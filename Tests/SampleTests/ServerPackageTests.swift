#if os(Linux)
import Foundation
import Testing

@Suite("Packages for servers", .timeLimit(.minutes(10)))
struct ServerPackageTests {
    private static let stubs = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../ServerStubs").standardized
    /// The modules that each file of samples imports, in the order of their own imports.
    private static let modules = [
        "ObservabilitySamples": ["Logging", "Metrics", "Tracing"], "VaporSamples": ["Vapor"],
        "HummingbirdSamples": ["Logging", "ServiceLifecycle", "Hummingbird"],
    ]

    @Test(
        "samples compile against the declarations of these packages", .enabled(if: Compiler.program != nil),
        arguments: modules)
    func samples(_ file: String, importing modules: [String]) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "packages-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        // A temporary folder that cannot be removed is no reason to fail.
        defer { try? FileManager.default.removeItem(at: folder) }
        let compiler = try Compiler(try #require(Compiler.program), in: folder)
        let found = try await compiler.problems(
            of: Self.stubs.appending(path: "\(file).swift"),
            importing: modules.map { Self.stubs.appending(path: "\($0).swift") })
        #expect(found.isEmpty, "\(found)")
    }

    @Test("each file of samples is compiled")
    func files() throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: Self.stubs.path)
        let samples = names.filter { $0.hasSuffix("Samples.swift") }
        #expect(Set(samples) == Set(Self.modules.keys.map { "\($0).swift" }))
    }
}
#endif
