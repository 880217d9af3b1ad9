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

    /// Starts a program. Proxies in the environment of the tests are not passed on.
    init(
        _ program: String, _ arguments: [String], environment: [String: String] = [:],
        errors: Subprocess.Errors = .inherited
    ) throws {
        process = try Subprocess(
            Subprocess.sibling(program), arguments,
            environment: ProcessInfo.processInfo.environment
                .filter { !$0.key.lowercased().hasSuffix("_proxy") }
                .merging(environment) { $1 }, errors: errors)
    }

    /// Waits for the end and returns the printed lines, and the status or the signal that ended the process.
    func end() async throws -> (lines: [String], status: Int32) {
        let (said, status) = try await process.outcome()
        return (String(decoding: said, as: UTF8.self).split(separator: "\n").map(String.init), status)
    }

    /// Waits until something has been printed.
    func firstWord() async throws {
        let output = process.output
        _ = try await Subprocess.waiting { output.availableData }
    }

    /// Lets a process continue that waits for a line of input.
    func go() {
        process.input.write(Data("go\n".utf8))
    }

    /// Waits until the process has suspended itself, as if its machine slept.
    func isSuspended() async throws {
        let isSuspended = try await Subprocess.waiting { [process] in process.waitUntilSuspended() }
        try #require(isSuspended)
    }

    /// Continues a process that was suspended.
    func resume() {
        process.resume()
    }

    /// Kills the process; for the process, that is like a power cut.
    func kill() {
        process.stop()
    }
}

#if os(Linux)
extension Scratch {
    /// Builds a library in C, and returns the environment of a process in which its functions come before those of the
    /// system.
    func preloading(_ library: String) async throws -> [String: String] {
        try write(library, to: "library.c")
        try await Program.clang.run(["-shared", "-fPIC", "-o", path("library.so"), path("library.c"), "-ldl"])
        return ["LD_PRELOAD": path("library.so")]
    }
}

extension Child {
    /// Returns what a `TransportProbe` prints that sends POSTs to these URLs, one after the other, while the functions
    /// of that library in C come before those of the system.
    static func series(
        _ urls: [String], trusting authority: TestAuthority? = nil, _ library: String
    ) async throws -> [String] {
        let scratch = try Scratch()
        let environment = try await scratch.preloading(library)
        let options = authority.map { ["authorities=\($0.file)"] } ?? []
        let arguments = ["series"] + options + urls.map { "POST\($0)" }
        let probe = try Child("TransportProbe", arguments, environment: environment)
        let (lines, status) = try await probe.end()
        #expect(status == 0)
        return lines
    }
}
#endif
