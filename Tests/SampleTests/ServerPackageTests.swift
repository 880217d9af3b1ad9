#if os(Linux)
import Foundation
import Testing

@Suite("Packages for servers", .timeLimit(.minutes(10)))
struct ServerPackageTests {
    @Test(
        "the samples for logs, metrics, traces and an orderly end compile against the declarations of these packages",
        .enabled(if: Compiler.program != nil))
    func samples() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "packages-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        // A temporary folder that cannot be removed is no reason to fail.
        defer { try? FileManager.default.removeItem(at: folder) }
        let stubs = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../ServerStubs").standardized
        let modules = ["Logging", "Metrics", "Tracing", "ServiceLifecycle"]
        let compiler = try Compiler(try #require(Compiler.program), in: folder)
        let found = try await compiler.problems(
            of: stubs.appending(path: "Samples.swift"),
            importing: modules.map { stubs.appending(path: "\($0).swift") })
        #expect(found.isEmpty, "\(found)")
    }
}
#endif
