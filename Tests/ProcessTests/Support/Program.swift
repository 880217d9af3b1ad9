#if os(Linux)
import ErrandTestSupport
import ErrandTesting
import Foundation

/// A program of the system that tests use; if it is not installed, these tests are skipped.
enum Program: String {
    case openssl, nginx, haproxy, clang, gzip, bash, curl, python3, sha256sum, glewlwyd
    case muslCompiler = "musl-gcc"

    /// The program ended with a status other than 0.
    struct Failure: Error {
        let program: String
        let said: String
    }

    /// The path; `nil` if it is not installed.
    var path: String? {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
        // Servers are in folders that a user's PATH may not contain.
        return (folders + ["/usr/sbin", "/usr/local/sbin"]).map { "\($0)/\(rawValue)" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    var isInstalled: Bool { path != nil }

    /// Runs the program to its end and returns its standard output.
    @discardableResult
    func run(_ arguments: [String], input: Data = Data()) async throws -> Data {
        try await Self.run(found, arguments, input: input)
    }

    /// Does the same on the caller's thread, which it blocks: before a test begins.
    func runAtOnce(_ arguments: [String]) throws -> Data {
        try Self.outcome(of: found, arguments, input: Data())
    }

    /// Runs the program at that path, on the caller's thread.
    static func runAtOnce(_ path: String, _ arguments: [String]) throws -> Data {
        try outcome(of: path, arguments, input: Data())
    }

    /// Runs the program at that path.
    @discardableResult
    static func run(_ path: String, _ arguments: [String] = [], input: Data = Data()) async throws -> Data {
        try await Subprocess.waiting { try outcome(of: path, arguments, input: input) }
    }

    private static func outcome(of path: String, _ arguments: [String], input: Data) throws -> Data {
        let process = try Subprocess(path, arguments, errors: .apart)
        // All of the output, and of the errors, fits into a pipe.
        process.input.write(input)
        try process.input.close()
        let data = try process.said()
        let words = try process.errors?.readToEnd() ?? Data()
        guard process.end() == 0 else { throw Failure(program: path, said: String(decoding: words, as: UTF8.self)) }
        return data
    }

    /// Its path, if it is installed.
    fileprivate var found: String {
        get throws {
            guard let path else { throw Failure(program: rawValue, said: "it is not installed") }
            return path
        }
    }
}

/// A server in a process of its own, which ends with its owner.
final class ServerProcess: Sendable {
    /// The output of the server until it was ready.
    let greeting: String
    private let process: Subprocess

    /// Starts a program and waits until it has printed `word`, to its output or its errors.
    convenience init(_ program: Program, _ arguments: [String], readyAfter word: String) async throws {
        try await self.init(at: program.found, arguments, readyAfter: word)
    }

    /// Starts the program at that path, likewise.
    init(at path: String, _ arguments: [String], readyAfter word: String) async throws {
        // The pipe for its output stays open: a server may exit when that has no reader.
        let process = try Subprocess(path, arguments, errors: .withOutput)
        self.process = process
        try process.input.close()
        greeting = try await Subprocess.waiting {
            var said = ""
            while !said.contains(word) || said.last != "\n" {
                let more = process.output.availableData
                guard !more.isEmpty else { throw Program.Failure(program: path, said: said) }
                said += String(decoding: more, as: UTF8.self)
            }
            return said
        }
    }

    /// Starts a server on a port that was free a moment ago, and on another if that is in use now.
    static func onFreePort(
        _ start: (_ port: Int) async throws -> ServerProcess
    ) async throws -> (port: Int, process: ServerProcess) {
        var failure: any Error = CancellationError()
        for _ in 0..<5 {
            let probe = try LoopbackServer()
            let port = probe.port
            probe.close()
            do { return (port, try await start(port)) } catch { failure = error }
        }
        throw failure
    }

    /// Waits until the server has printed something more. A test that is out of time ends the server, and so the wait.
    func said() async {
        let process = process
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // Not on a thread that other tasks need.
                Thread.detachNewThread {
                    _ = process.output.availableData
                    continuation.resume()
                }
            }
        } onCancel: {
            process.stop()
        }
    }

    /// Suspends the server, which goes on accepting connections in the kernel, and does not respond.
    func suspend() { process.suspend() }

    /// Continues the server.
    func resume() { process.resume() }

    /// Ends the server and returns what it has printed since it was ready.
    func stop() -> String {
        process.stop()
        return String(decoding: (try? process.said()) ?? Data(), as: UTF8.self)
    }

    deinit {
        // A child process inherits the signal mask of the thread that starts it; threads of Dispatch block SIGTERM.
        process.stop()
        Thread.detachNewThread { [process] in _ = process.end() }
    }
}
#endif
