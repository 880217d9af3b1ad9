package import Foundation

/// Another process, with pipes to it.
///
/// Foundation's `Process` finds the open descriptors by copying whole directory entries, even if the system returned
/// shorter ones: now and then it reads beyond the mapped memory, which crashes the parent process.
package final class Subprocess: Sendable {
    package struct Failure: Error {
        package let reason: String
    }

    /// The destination of its standard error: the same as ours, a pipe of its own, or the pipe of its output.
    package enum Errors: Sendable {
        case inherited, apart, withOutput
    }

    private let id: pid_t
    /// The pipes to its standard input, from its standard output, and from its standard error if that is separate.
    package let input, output: FileHandle
    package let errors: FileHandle?

    /// Starts the program at that path.
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

    /// Returns the path of a program of this package, which is in the same folder as that of the tests.
    package static func sibling(_ program: String) throws -> String {
        let neighbours = CommandLine.arguments.prefix(1) + Bundle.allBundles.map(\.bundlePath)
        let places = neighbours.map {
            URL(fileURLWithPath: $0).deletingLastPathComponent().appendingPathComponent(program).path
        }
        guard let place = places.first(where: { FileManager.default.isExecutableFile(atPath: $0) }) else {
            throw Failure(reason: "there is no program \(program) beside the tests")
        }
        return place
    }

    /// Waits for its end and returns its output, and its status or the signal that ended it. Call it once.
    package func outcome() async throws -> (said: Data, status: CInt) {
        try await Self.waiting { (try self.said(), self.end()) }
    }

    /// Runs work that waits for a process on a thread of its own: one of the pool may have to do what the process waits
    /// for.
    package static func waiting<Value: Sendable>(for work: @Sendable () throws -> Value) async throws -> Value {
        try await OwnThread.run(work)
    }

    /// Reads its output to the end.
    package func said() throws -> Data {
        try output.readToEnd() ?? Data()
    }

    /// Waits for its end and returns its status, or the signal that ended it. Call it once.
    package func end() -> CInt {
        var status: CInt = 0
        while waitpid(id, &status, 0) < 0, errno == EINTR {}
        let signal = status & 0x7F
        return signal == 0 ? status >> 8 & 0xFF : signal
    }

    /// Waits until the process is suspended. Returns `false` if it ends before; its status is lost then.
    package func waitUntilSuspended() -> Bool {
        var status: CInt = 0
        while waitpid(id, &status, WUNTRACED) < 0 {
            guard errno == EINTR else { return false }
        }
        return status & 0xFF == 0x7F
    }

    /// Interrupts the process, as Ctrl-C does.
    package func interrupt() {
        kill(id, SIGINT)
    }

    /// Suspends the process, as a debugger or a machine that sleeps does.
    package func suspend() {
        kill(id, SIGSTOP)
    }

    /// Continues a process that was suspended.
    package func resume() {
        kill(id, SIGCONT)
    }

    /// Kills the process; for the process, that is like a power cut.
    package func stop() {
        kill(id, SIGKILL)
    }
}

/// The descriptors that a new process inherits: only those that are listed.
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
        // Whoever runs the tests may ignore SIGPIPE, and a program inherits that: then it would not end it.
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        var flags = POSIX_SPAWN_SETSIGDEF
        #if canImport(Darwin)
        flags |= POSIX_SPAWN_CLOEXEC_DEFAULT
        #else
        // Part of glibc since 2.34, but not visible to Swift. Without it a child inherits the descriptors that are open
        // here.
        typealias CloseFrom = @convention(c) (UnsafeMutableRawPointer, CInt) -> CInt
        if let function = dlsym(nil, "posix_spawn_file_actions_addclosefrom_np") {
            _ = unsafeBitCast(function, to: CloseFrom.self)(&actions, 3)
        }
        #endif
        posix_spawnattr_setflags(&attributes, Int16(flags))
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
