import Foundation
import Testing

/// A `TokenSharer`: another process that uses the same session.
final class Child: Sendable {
    private let process: Process
    private let input = Pipe()
    private let output = Pipe()
    private let ended: AsyncStream<Void>

    /// Starts one.
    init(_ arguments: String...) throws {
        process = Process()
        process.executableURL = try Self.executable()
        process.arguments = arguments
        process.standardInput = input
        process.standardOutput = output
        let (ended, continuation) = AsyncStream<Void>.makeStream()
        self.ended = ended
        process.terminationHandler = { _ in continuation.finish() }
        try process.run()
    }

    /// Waits for the end; the lines that were printed, and the status or the signal that ended it.
    func end() async throws -> (lines: [String], status: Int32) {
        for await _ in ended {}
        let data = try output.fileHandleForReading.readToEnd() ?? Data()
        return (
            String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init), process.terminationStatus
        )
    }

    /// Waits until something has been printed.
    func firstWord() {
        _ = output.fileHandleForReading.availableData
    }

    /// Lets one go on that waits for a word.
    func go() {
        input.fileHandleForWriting.write(Data("go\n".utf8))
    }

    /// Ends it as a power cut would, as far as the process can tell.
    func kill() {
        #if canImport(Darwin)
        Darwin.kill(process.processIdentifier, SIGKILL)
        #else
        Glibc.kill(process.processIdentifier, SIGKILL)
        #endif
    }

    /// The executable lies beside the tests' own, wherever that was built.
    private static func executable() throws -> URL {
        let neighbours = CommandLine.arguments.prefix(1) + Bundle.allBundles.map(\.bundlePath)
        let places = neighbours.map {
            URL(fileURLWithPath: $0).deletingLastPathComponent().appendingPathComponent("TokenSharer")
        }
        return try #require(places.first { FileManager.default.isExecutableFile(atPath: $0.path) })
    }
}
