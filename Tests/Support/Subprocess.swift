package import Foundation

/// Another process, with pipes to it.
///
/// Foundation's `Process` finds out what is open by copying whole entries of a folder where the system gave shorter
/// ones: now and then beyond what is mapped, which ends the process that starts another.
package final class Subprocess: Sendable {
    package struct Failure: Error {
        package let reason: String
    }

    /// Where what it says of errors goes: to where ours goes, to a pipe of its own, or to that of its output.
    package enum Errors: Sendable {
        case inherited, apart, withOutput
    }

    private let id: pid_t
    /// What it reads, what it writes, and its errors if they come apart.
    package let input, output: FileHandle
    package let errors: FileHandle?

    /// Starts a program, which is told by its path.
    package init(
        _ program: String, _ arguments: [String], environment: [String: String] = ProcessInfo.processInfo.environment,
        errors: Errors = .inherited
    ) throws {
        let (given, said, complained) = (Pipe(), Pipe(), Pipe())
        var plan = Plan()
        defer { plan.end() }
        plan.put(given.fileHandleForReading, at: 0)
        plan.put(said.fileHandleForWriting, at: 1)
        switch errors {
        case .inherited: plan.keep(2)
        case .apart: plan.put(complained.fileHandleForWriting, at: 2)
        case .withOutput: plan.put(said.fileHandleForWriting, at: 2)
        }
        id = try plan.start(program, arguments, environment)
        for end in [given.fileHandleForReading, said.fileHandleForWriting, complained.fileHandleForWriting] {
            try end.close()
        }
        (input, output) = (given.fileHandleForWriting, said.fileHandleForReading)
        self.errors = errors == .apart ? complained.fileHandleForReading : nil
    }

    /// Waits for its end: what it wrote, and its status, or the signal that ended it. To be called once.
    package func outcome() async throws -> (said: Data, status: CInt) {
        try await withCheckedThrowingContinuation { continuation in
            // Not on a thread that other tasks need.
            Thread.detachNewThread { continuation.resume(with: Result { (try self.said(), self.end()) }) }
        }
    }

    /// All that it writes until its output ends.
    package func said() throws -> Data {
        try output.readToEnd() ?? Data()
    }

    /// Waits for its end: its status, or the signal that ended it. To be called once.
    package func end() -> CInt {
        var status: CInt = 0
        while waitpid(id, &status, 0) < 0, errno == EINTR {}
        let signal = status & 0x7F
        return signal == 0 ? status >> 8 & 0xFF : signal
    }

    /// Ends it as a power cut would, as far as it can tell.
    package func stop() {
        kill(id, SIGKILL)
    }
}

/// What is to be open in a process that is about to be started: nothing but what is said.
private struct Plan {
    #if canImport(Darwin)
    private var actions: posix_spawn_file_actions_t?
    private var attributes: posix_spawnattr_t?
    #else
    private var actions = posix_spawn_file_actions_t()
    private var attributes = posix_spawnattr_t()
    #endif

    init() {
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
    }

    mutating func put(_ end: FileHandle, at descriptor: CInt) {
        posix_spawn_file_actions_adddup2(&actions, end.fileDescriptor, descriptor)
    }

    mutating func keep(_ descriptor: CInt) {
        #if canImport(Darwin)
        posix_spawn_file_actions_addinherit_np(&actions, descriptor)
        #endif
    }

    mutating func start(_ program: String, _ arguments: [String], _ environment: [String: String]) throws -> pid_t {
        #if canImport(Darwin)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_CLOEXEC_DEFAULT))
        #else
        // Of glibc since 2.34; its declaration is not for Swift to see. Without it a child keeps what is open here.
        typealias CloseFrom = @convention(c) (UnsafeMutableRawPointer, CInt) -> CInt
        if let function = dlsym(nil, "posix_spawn_file_actions_addclosefrom_np") {
            _ = unsafeBitCast(function, to: CloseFrom.self)(&actions, 3)
        }
        #endif
        var words = ([program] + arguments).map { strdup($0) } + [nil]
        var settings = environment.map { strdup("\($0)=\($1)") } + [nil]
        defer { for text in words + settings { free(text) } }
        var id: pid_t = 0
        let result = posix_spawn(&id, program, &actions, &attributes, &words, &settings)
        guard result == 0 else { throw Subprocess.Failure(reason: "\(program): \(String(cString: strerror(result)))") }
        return id
    }

    mutating func end() {
        posix_spawn_file_actions_destroy(&actions)
        posix_spawnattr_destroy(&attributes)
    }
}
