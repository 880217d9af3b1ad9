#if os(Linux)
import ErrandTestSupport
import Foundation

/// A program of the system that tests work with where it is installed; where it is not, they are skipped.
enum Program: String {
    case openssl, nginx, clang, gzip, bash, curl, python3

    /// It ended with another status than 0.
    struct Failure: Error {
        let program: Program
        let said: String
    }

    /// Where it is.
    var path: String? {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
        // Servers lie where a user's path does not always lead.
        return (folders + ["/usr/sbin", "/usr/local/sbin"]).map { "\($0)/\(rawValue)" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    var isInstalled: Bool { path != nil }

    /// Runs it to its end; what it wrote to its standard output.
    @discardableResult
    func run(_ arguments: [String], input: Data = Data()) throws -> Data {
        let process = try Subprocess(found, arguments, errors: .apart)
        // What is written here, and said of errors, fits into a pipe.
        process.input.write(input)
        try process.input.close()
        let data = try process.said()
        let words = try process.errors?.readToEnd() ?? Data()
        guard process.end() == 0 else { throw Failure(program: self, said: String(decoding: words, as: UTF8.self)) }
        return data
    }

    /// Where it is, if it is installed.
    fileprivate var found: String {
        get throws {
            guard let path else { throw Failure(program: self, said: "it is not installed") }
            return path
        }
    }
}

/// A server in a process of its own, which ends with its owner.
final class ServerProcess: Sendable {
    /// What it said until it was ready.
    let greeting: String
    private let process: Subprocess

    /// Starts a program and waits until it has said `word`, wherever it says such things.
    init(_ program: Program, _ arguments: [String], readyAfter word: String) throws {
        // Its output is held: a server that finds nobody at the other end of its pipe may give up.
        process = try Subprocess(program.found, arguments, errors: .withOutput)
        try process.input.close()
        var said = ""
        while !said.contains(word) || said.last != "\n" {
            let more = process.output.availableData
            guard !more.isEmpty else { throw Program.Failure(program: program, said: said) }
            said += String(decoding: more, as: UTF8.self)
        }
        greeting = said
    }

    /// Ends it; what it has said since it was ready.
    func stop() -> String {
        process.stop()
        return String(decoding: (try? process.said()) ?? Data(), as: UTF8.self)
    }

    deinit {
        // A process inherits what the thread that starts it has blocked: SIGTERM, if that is one of Dispatch's.
        process.stop()
        _ = process.end()
    }
}
#endif
