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
}
public var RLIMIT_NOFILE: Int32 { 8 }
public func getrlimit(_ kind: Int32, _ limit: UnsafeMutablePointer<rlimit>!) -> Int32 { -1 }
public func setrlimit(_ kind: Int32, _ limit: UnsafePointer<rlimit>!) -> Int32 { -1 }

public func exit(_ status: Int32) -> Never { while true {} }
@discardableResult public func kill(_ process: pid_t, _ signal: Int32) -> Int32 { -1 }
public func getenv(_ name: UnsafePointer<CChar>!) -> UnsafeMutablePointer<CChar>! { nil }
public typealias sig_t = @convention(c) (Int32) -> Void
public var SIGKILL: Int32 { 9 }
public var SIGTERM: Int32 { 15 }
public var SIGPIPE: Int32 { 13 }
