// Declarations of Apple's, without a behavior: see Tests/AppleStubs/README.md.
// swift-format-ignore-file

// Files and descriptors, with the types that Darwin's headers have on every platform of Apple.
// https://developer.apple.com/documentation/darwin
@_exported public import DarwinTypes

public typealias mode_t = UInt16
public typealias dev_t = Int32
public typealias ino_t = UInt64
public typealias nlink_t = UInt16
public typealias uid_t = UInt32
public typealias gid_t = UInt32
public typealias off_t = Int64
public typealias pid_t = Int32
public typealias size_t = Int
public typealias ssize_t = Int

public var S_IFMT: mode_t { 0o170000 }
public var S_IFDIR: mode_t { 0o040000 }
public var S_IFREG: mode_t { 0o100000 }
public var S_IFLNK: mode_t { 0o120000 }

public var O_RDONLY: Int32 { 0x0000 }
public var O_WRONLY: Int32 { 0x0001 }
public var O_RDWR: Int32 { 0x0002 }
public var O_NONBLOCK: Int32 { 0x0004 }
public var O_NOFOLLOW: Int32 { 0x0100 }
public var O_CREAT: Int32 { 0x0200 }
public var O_TRUNC: Int32 { 0x0400 }
public var O_EXCL: Int32 { 0x0800 }
public var O_CLOEXEC: Int32 { 0x0100_0000 }
public var O_EVTONLY: Int32 { 0x8000 }

public func open(_ path: UnsafePointer<CChar>, _ oflag: Int32) -> Int32 { -1 }
public func open(_ path: UnsafePointer<CChar>, _ oflag: Int32, _ mode: mode_t) -> Int32 { -1 }
@discardableResult public func close(_ descriptor: Int32) -> Int32 { -1 }
@discardableResult public func fsync(_ descriptor: Int32) -> Int32 { -1 }
@discardableResult public func read(_ descriptor: Int32, _ buffer: UnsafeMutableRawPointer!, _ count: Int) -> Int { -1 }
@discardableResult public func write(_ descriptor: Int32, _ buffer: UnsafeRawPointer!, _ count: Int) -> Int { -1 }
@discardableResult
public func pread(_ descriptor: Int32, _ buffer: UnsafeMutableRawPointer!, _ count: Int, _ offset: off_t) -> Int { -1 }
@discardableResult
public func pwrite(_ descriptor: Int32, _ buffer: UnsafeRawPointer!, _ count: Int, _ offset: off_t) -> Int { -1 }
@discardableResult public func lseek(_ descriptor: Int32, _ offset: off_t, _ whence: Int32) -> off_t { -1 }
@discardableResult public func ftruncate(_ descriptor: Int32, _ length: off_t) -> Int32 { -1 }
@discardableResult public func unlink(_ path: UnsafePointer<CChar>!) -> Int32 { -1 }
@discardableResult public func link(_ path: UnsafePointer<CChar>!, _ new: UnsafePointer<CChar>!) -> Int32 { -1 }
@discardableResult public func symlink(_ path: UnsafePointer<CChar>!, _ new: UnsafePointer<CChar>!) -> Int32 { -1 }
@discardableResult public func rename(_ old: UnsafePointer<CChar>!, _ new: UnsafePointer<CChar>!) -> Int32 { -1 }
@discardableResult public func mkdir(_ path: UnsafePointer<CChar>!, _ mode: mode_t) -> Int32 { -1 }
@discardableResult public func rmdir(_ path: UnsafePointer<CChar>!) -> Int32 { -1 }
@discardableResult public func fchmod(_ descriptor: Int32, _ mode: mode_t) -> Int32 { -1 }
@discardableResult public func chmod(_ path: UnsafePointer<CChar>!, _ mode: mode_t) -> Int32 { -1 }
@discardableResult public func truncate(_ path: UnsafePointer<CChar>!, _ length: off_t) -> Int32 { -1 }
@discardableResult public func chown(_ path: UnsafePointer<CChar>!, _ user: uid_t, _ group: gid_t) -> Int32 { -1 }
@discardableResult public func mkfifo(_ path: UnsafePointer<CChar>!, _ mode: mode_t) -> Int32 { -1 }
@discardableResult public func utimes(_ path: UnsafePointer<CChar>!, _ times: UnsafePointer<timeval>!) -> Int32 { -1 }
public func geteuid() -> uid_t { 0 }
public func getpid() -> pid_t { 0 }
public func isatty(_ descriptor: Int32) -> Int32 { 0 }
@discardableResult public func fcntl(_ descriptor: Int32, _ command: Int32) -> Int32 { -1 }
@discardableResult public func fcntl(_ descriptor: Int32, _ command: Int32, _ value: Int32) -> Int32 { -1 }
public var F_SETFD: Int32 { 2 }
public var F_FULLFSYNC: Int32 { 51 }
public var FD_CLOEXEC: Int32 { 1 }
public var F_SETPROTECTIONCLASS: Int32 { 64 }

// https://developer.apple.com/library/archive/documentation/System/Conceptual/ManPages_iPhoneOS/man5/dir.5.html
// https://developer.apple.com/library/archive/documentation/System/Conceptual/ManPages_iPhoneOS/man3/directory.3.html
public struct DIR {}
public struct dirent {
    /// 1024 characters there.
    public var d_name: (CChar, CChar, CChar, CChar) = (0, 0, 0, 0)
}
public func opendir(_ path: UnsafePointer<CChar>!) -> UnsafeMutablePointer<DIR>! { nil }
public func readdir(_ folder: UnsafeMutablePointer<DIR>!) -> UnsafeMutablePointer<dirent>! { nil }
@discardableResult public func closedir(_ folder: UnsafeMutablePointer<DIR>!) -> Int32 { -1 }
@discardableResult public func futimens(_ descriptor: Int32, _ times: UnsafePointer<timespec>!) -> Int32 { -1 }
public var SEEK_SET: Int32 { 0 }
public var SEEK_END: Int32 { 2 }
public var STDIN_FILENO: Int32 { 0 }
public var STDOUT_FILENO: Int32 { 1 }
public var STDERR_FILENO: Int32 { 2 }

// https://developer.apple.com/library/archive/documentation/System/Conceptual/ManPages_iPhoneOS/man2/flock.2.html
public var LOCK_SH: Int32 { 1 }
public var LOCK_EX: Int32 { 2 }
public var LOCK_NB: Int32 { 4 }
public var LOCK_UN: Int32 { 8 }
