import Foundation
import Testing

/// Another process: a `TokenSharer`, which uses the same session, or a `TransportProbe`, which has an environment of its own.
final class Child: Sendable {
    private let process: Process
    private let input: Pipe
    private let output: Pipe
    private let ended: AsyncStream<Void>

    /// Starts a `TokenSharer`.
    convenience init(_ arguments: String...) throws {
        try self.init("TokenSharer", arguments)
    }

    /// Starts one. A proxy that the tests' own environment names is none of its business.
    init(_ program: String, _ arguments: [String], environment: [String: String] = [:]) throws {
        let process = Process()
        process.executableURL = try Self.executable(program)
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment
            .filter { !$0.key.lowercased().hasSuffix("_proxy") }
            .merging(environment) { $1 }
        let (ended, continuation) = AsyncStream<Void>.makeStream()
        self.ended = ended
        process.terminationHandler = { _ in continuation.finish() }
        (input, output) = try spawning.withLock {
            let pipes = (Pipe(), Pipe())
            process.standardInput = pipes.0
            process.standardOutput = pipes.1
            try process.run()
            return pipes
        }
        self.process = process
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
    private static func executable(_ program: String) throws -> URL {
        let neighbours = CommandLine.arguments.prefix(1) + Bundle.allBundles.map(\.bundlePath)
        let places = neighbours.map {
            URL(fileURLWithPath: $0).deletingLastPathComponent().appendingPathComponent(program)
        }
        return try #require(places.first { FileManager.default.isExecutableFile(atPath: $0.path) })
    }
}
