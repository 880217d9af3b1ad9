import ErrandTestSupport
import Foundation
import Testing

/// Another process: a `TokenSharer`, which uses the same session, or a `TransportProbe`, which has an environment of
/// its own.
final class Child: Sendable {
    private let process: Subprocess

    /// Starts a `TokenSharer`.
    convenience init(_ arguments: String...) throws {
        try self.init("TokenSharer", arguments)
    }

    /// Starts one. A proxy that the tests' own environment names is none of its business.
    init(_ program: String, _ arguments: [String], environment: [String: String] = [:]) throws {
        process = try Subprocess(
            Self.executable(program).path, arguments,
            environment: ProcessInfo.processInfo.environment
                .filter { !$0.key.lowercased().hasSuffix("_proxy") }
                .merging(environment) { $1 })
    }

    /// Waits for the end; the lines that were printed, and the status or the signal that ended it.
    func end() async throws -> (lines: [String], status: Int32) {
        let (said, status) = try await process.outcome()
        return (String(decoding: said, as: UTF8.self).split(separator: "\n").map(String.init), status)
    }

    /// Waits until something has been printed.
    func firstWord() {
        _ = process.output.availableData
    }

    /// Lets one go on that waits for a word.
    func go() {
        process.input.write(Data("go\n".utf8))
    }

    /// Ends it as a power cut would, as far as the process can tell.
    func kill() {
        process.stop()
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
