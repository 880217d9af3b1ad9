#if os(Linux)
import ErrandTestSupport
import Foundation

/// A small program of files of the shim, and of what stands for the rest of it.
enum ShimProgram {
    private static let shim = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../Sources/CCurl").path

    /// Runs a program of these lines and of those files of the shim, and returns what it prints.
    static func run(_ lines: String, with files: [String]) async throws -> String {
        let scratch = try Scratch()
        try scratch.write(lines, to: "main.c")
        let files = [scratch.path("main.c")] + files.map { "\(shim)/\($0)" }
        let options = ["-I\(shim)", "-I\(shim)/include", "-o", scratch.path("main")]
        try await Program.clang.run(files + options)
        return String(decoding: try await Program.run(scratch.path("main")), as: UTF8.self)
    }
}
#endif
