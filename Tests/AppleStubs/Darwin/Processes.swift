// Declarations of Apple's, without a behavior: see Tests/AppleStubs/README.md.
// swift-format-ignore-file

public import DarwinTypes

// https://developer.apple.com/documentation/darwin/clockid_t
public struct clockid_t: RawRepresentable, Sendable {
    public var rawValue: UInt32
    public init(_ rawValue: UInt32) { self.rawValue = rawValue }
    public init(rawValue: UInt32) { self.rawValue = rawValue }
}
public var CLOCK_REALTIME: clockid_t { clockid_t(0) }
public var CLOCK_MONOTONIC_RAW: clockid_t { clockid_t(4) }
public var CLOCK_MONOTONIC: clockid_t { clockid_t(6) }
public var CLOCK_THREAD_CPUTIME_ID: clockid_t { clockid_t(16) }
public var CLOCK_PROCESS_CPUTIME_ID: clockid_t { clockid_t(12) }
@discardableResult
public func clock_gettime(_ clock: clockid_t, _ time: UnsafeMutablePointer<timespec>!) -> Int32 { -1 }

// https://developer.apple.com/library/archive/documentation/System/Conceptual/ManPages_iPhoneOS/
// man3/pthread_create.3.html
// Darwin imports its handle of a thread as a pointer, and takes the handle as an optional.
public typealias pthread_t = UnsafeMutablePointer<_opaque_pthread_t>
public struct _opaque_pthread_t {}
public struct pthread_attr_t {
    public init() {}
}
@discardableResult public func pthread_attr_init(_ attributes: UnsafeMutablePointer<pthread_attr_t>) -> Int32 { -1 }
@discardableResult public func pthread_attr_destroy(_ attributes: UnsafeMutablePointer<pthread_attr_t>) -> Int32 { -1 }
@discardableResult
public func pthread_attr_setstacksize(_ attributes: UnsafeMutablePointer<pthread_attr_t>, _ size: Int) -> Int32 { -1 }
@discardableResult
public func pthread_attr_setdetachstate(_ attributes: UnsafeMutablePointer<pthread_attr_t>, _ state: Int32) -> Int32 {
    -1
}
public var PTHREAD_CREATE_DETACHED: Int32 { 2 }
@discardableResult
public func pthread_create(
    _ thread: UnsafeMutablePointer<pthread_t?>!, _ attributes: UnsafePointer<pthread_attr_t>?,
    _ body: @convention(c) (UnsafeMutableRawPointer) -> UnsafeMutableRawPointer?, _ context: UnsafeMutableRawPointer?
) -> Int32 { -1 }

// https://developer.apple.com/library/archive/documentation/System/Conceptual/ManPages_iPhoneOS/man2/getrlimit.2.html
public typealias rlim_t = UInt64
public struct rlimit {
    public var rlim_cur: rlim_t = 0
    public var rlim_max: rlim_t = 0
    public init() {}
    public init(rlim_cur: rlim_t, rlim_max: rlim_t) {}
}
public var RLIMIT_FSIZE: Int32 { 1 }
public var RLIMIT_NOFILE: Int32 { 8 }
@discardableResult public func getrlimit(_ kind: Int32, _ limit: UnsafeMutablePointer<rlimit>!) -> Int32 { -1 }
@discardableResult public func setrlimit(_ kind: Int32, _ limit: UnsafePointer<rlimit>!) -> Int32 { -1 }

public func exit(_ status: Int32) -> Never { while true {} }
public func getenv(_ name: UnsafePointer<CChar>!) -> UnsafeMutablePointer<CChar>! { nil }
@discardableResult public func usleep(_ microseconds: useconds_t) -> Int32 { 0 }
public typealias useconds_t = UInt32
public func strdup(_ text: UnsafePointer<CChar>!) -> UnsafeMutablePointer<CChar>! { nil }
public func free(_ memory: UnsafeMutableRawPointer!) {}
public func strtod(
    _ text: UnsafePointer<CChar>!, _ end: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>!
) -> Double { 0 }
public func strtof(
    _ text: UnsafePointer<CChar>!, _ end: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>!
) -> Float { 0 }

// https://developer.apple.com/library/archive/documentation/System/Conceptual/ManPages_iPhoneOS/man3/signal.3.html
public typealias sig_t = @convention(c) (Int32) -> Void
public var SIG_IGN: sig_t! { { _ in } }
public var SIG_DFL: sig_t! { { _ in } }
public var SIGINT: Int32 { 2 }
public var SIGKILL: Int32 { 9 }
public var SIGCONT: Int32 { 19 }
public var SIGPIPE: Int32 { 13 }
public typealias sigset_t = UInt32
@discardableResult
public func sigemptyset(_ signals: UnsafeMutablePointer<sigset_t>!) -> Int32 { -1 }
@discardableResult
public func sigaddset(_ signals: UnsafeMutablePointer<sigset_t>!, _ signal: Int32) -> Int32 { -1 }
public var SIGTERM: Int32 { 15 }
public var SIGSTOP: Int32 { 17 }
public var SIGXFSZ: Int32 { 25 }
@discardableResult public func kill(_ process: pid_t, _ signal: Int32) -> Int32 { -1 }
@discardableResult public func raise(_ signal: Int32) -> Int32 { -1 }
@discardableResult public func signal(_ number: Int32, _ action: sig_t!) -> sig_t! { nil }

// https://developer.apple.com/library/archive/documentation/System/Conceptual/ManPages_iPhoneOS/
// man2/posix_spawn.2.html
// Both types are pointers there.
public typealias posix_spawn_file_actions_t = UnsafeMutableRawPointer
public typealias posix_spawnattr_t = UnsafeMutableRawPointer
public var POSIX_SPAWN_CLOEXEC_DEFAULT: Int32 { 0x4000 }
public var POSIX_SPAWN_SETSIGDEF: Int32 { 4 }
@discardableResult
public func posix_spawn_file_actions_init(_ actions: UnsafeMutablePointer<posix_spawn_file_actions_t?>!) -> Int32 { -1 }
@discardableResult
public func posix_spawn_file_actions_destroy(
    _ actions: UnsafeMutablePointer<posix_spawn_file_actions_t?>!
) -> Int32 { -1 }
@discardableResult
public func posix_spawn_file_actions_adddup2(
    _ actions: UnsafeMutablePointer<posix_spawn_file_actions_t?>!, _ descriptor: Int32, _ other: Int32
) -> Int32 { -1 }
@discardableResult
public func posix_spawn_file_actions_addinherit_np(
    _ actions: UnsafeMutablePointer<posix_spawn_file_actions_t?>!, _ descriptor: Int32
) -> Int32 { -1 }
@discardableResult
public func posix_spawnattr_init(_ attributes: UnsafeMutablePointer<posix_spawnattr_t?>!) -> Int32 { -1 }
@discardableResult
public func posix_spawnattr_destroy(_ attributes: UnsafeMutablePointer<posix_spawnattr_t?>!) -> Int32 { -1 }
@discardableResult
public func posix_spawnattr_setsigdefault(
    _ attributes: UnsafeMutablePointer<posix_spawnattr_t?>!, _ signals: UnsafePointer<sigset_t>!
) -> Int32 { -1 }
@discardableResult
public func posix_spawnattr_setflags(_ attributes: UnsafeMutablePointer<posix_spawnattr_t?>!, _ flags: Int16) -> Int32 {
    -1
}
@discardableResult
public func posix_spawn(
    _ process: UnsafeMutablePointer<pid_t>!, _ path: UnsafePointer<CChar>!,
    _ actions: UnsafePointer<posix_spawn_file_actions_t?>!, _ attributes: UnsafePointer<posix_spawnattr_t?>!,
    _ arguments: UnsafePointer<UnsafeMutablePointer<CChar>?>!,
    _ environment: UnsafePointer<UnsafeMutablePointer<CChar>?>!
) -> Int32 { -1 }
@discardableResult
public func posix_spawn_file_actions_addclose(
    _ actions: UnsafeMutablePointer<posix_spawn_file_actions_t?>!, _ descriptor: Int32
) -> Int32 { -1 }
@discardableResult
public func posix_spawnp(
    _ process: UnsafeMutablePointer<pid_t>!, _ name: UnsafePointer<CChar>!,
    _ actions: UnsafePointer<posix_spawn_file_actions_t?>!, _ attributes: UnsafePointer<posix_spawnattr_t?>!,
    _ arguments: UnsafePointer<UnsafeMutablePointer<CChar>?>!,
    _ environment: UnsafePointer<UnsafeMutablePointer<CChar>?>!
) -> Int32 { -1 }
// No header declares `environ`.
public func _NSGetEnviron() -> UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>! { nil }
public func getppid() -> pid_t { 0 }
@discardableResult public func pipe(_ ends: UnsafeMutablePointer<Int32>!) -> Int32 { -1 }

// https://developer.apple.com/library/archive/documentation/System/Conceptual/ManPages_iPhoneOS/man2/wait4.2.html
public struct rusage {
    public var ru_utime: timeval { timeval() }
    public var ru_stime: timeval { timeval() }
    public init() {}
}
@discardableResult
public func wait4(
    _ process: pid_t, _ status: UnsafeMutablePointer<Int32>!, _ options: Int32, _ usage: UnsafeMutablePointer<rusage>!
) -> pid_t { -1 }
public var WUNTRACED: Int32 { 2 }
@discardableResult
public func waitpid(_ process: pid_t, _ status: UnsafeMutablePointer<Int32>!, _ options: Int32) -> pid_t { -1 }

// https://developer.apple.com/library/archive/documentation/System/Conceptual/ManPages_iPhoneOS/
// man3/gethostname.3.html
public func gethostname(_ name: UnsafeMutablePointer<CChar>!, _ length: Int) -> Int32 { -1 }
