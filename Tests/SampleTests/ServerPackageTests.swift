#if os(Linux)
import Foundation
import Testing

@Suite("Packages for servers", .timeLimit(.minutes(10)))
struct ServerPackageTests {
    @Test(
        "samples compile against the declarations of these packages", .enabled(if: Compiler.program != nil),
        arguments: [
            ("ObservabilitySamples", ["Logging", "Metrics", "Tracing"]), ("VaporSamples", ["Vapor"]),
            ("HummingbirdSamples", ["Logging", "ServiceLifecycle", "Hummingbird"]),
        ])
    func samples(_ file: String, importing modules: [String]) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "packages-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        // A temporary folder that cannot be removed is no reason to fail.
        defer { try? FileManager.default.removeItem(at: folder) }
        let stubs = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../ServerStubs").standardized
        let compiler = try Compiler(try #require(Compiler.program), in: folder)
        let found = try await compiler.problems(
            of: stubs.appending(path: "\(file).swift"),
            importing: modules.map { stubs.appending(path: "\($0).swift") })
        #expect(found.isEmpty, "\(found)")
    }
}
#endif
