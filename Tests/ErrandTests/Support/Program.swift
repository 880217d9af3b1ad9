#if os(Linux)
import Foundation

/// A program of the system that tests work with where it is installed; where it is not, they are skipped.
enum Program: String {
    case openssl, nginx, clang, gzip

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
        let process = try process(arguments)
        let hasEnded = DispatchSemaphore(value: 0)
        process.terminationHandler = { _ in hasEnded.signal() }
        let (given, output, said) = try spawning.withLock {
            let pipes = (Pipe(), Pipe(), Pipe())
            process.standardInput = pipes.0
            process.standardOutput = pipes.1
            process.standardError = pipes.2
            try process.run()
            return pipes
        }
        // What is written and read here fits into a pipe.
        given.fileHandleForWriting.write(input)
        try given.fileHandleForWriting.close()
        let data = try output.fileHandleForReading.readToEnd() ?? Data()
        let words = try said.fileHandleForReading.readToEnd() ?? Data()
        hasEnded.wait()
        guard process.terminationStatus == 0 else {
            throw Failure(program: self, said: String(decoding: words, as: UTF8.self))
        }
        return data
    }

    fileprivate func process(_ arguments: [String]) throws -> Process {
        guard let path else { throw Failure(program: self, said: "it is not installed") }
        let process = Process()
        process.executableURL = URL(filePath: path)
        process.arguments = arguments
        return process
    }
}

/// A server in a process of its own, which ends with its owner.
final class ServerProcess: Sendable {
    /// What it said until it was ready.
    let greeting: String
    private let process: Process
    /// Held: a server that finds nobody at the other end of its pipe may give up.
    private let words: Pipe

    /// Starts a program and waits until it has said `word`, wherever it says such things.
    init(_ program: Program, _ arguments: [String], readyAfter word: String) throws {
        let process = try program.process(arguments)
        process.standardInput = FileHandle.nullDevice
        let words = try spawning.withLock {
            let words = Pipe()
            process.standardOutput = words
            process.standardError = words
            try process.run()
            return words
        }
        (self.process, self.words) = (process, words)
        var said = ""
        while !said.contains(word) || said.last != "\n" {
            let more = words.fileHandleForReading.availableData
            guard !more.isEmpty else { throw Program.Failure(program: program, said: said) }
            said += String(decoding: more, as: UTF8.self)
        }
        greeting = said
    }

    deinit {
        // A process inherits what the thread that starts it has blocked: SIGTERM, if that is one of Dispatch's.
        kill(process.processIdentifier, SIGKILL)
    }
}
#endif
