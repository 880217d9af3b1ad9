// Declarations of Apple's, without a behavior: see Tests/AppleStubs/README.md.
// swift-format-ignore-file

// https://developer.apple.com/documentation/darwin/errno
public var errno: Int32 {
    get { 0 }
    set {}
}
public func strerror(_ code: Int32) -> UnsafeMutablePointer<CChar>! { nil }

public var EPERM: Int32 { 1 }
public var ENOENT: Int32 { 2 }
public var EINTR: Int32 { 4 }
public var EIO: Int32 { 5 }
public var ENXIO: Int32 { 6 }
public var EBADF: Int32 { 9 }
public var EACCES: Int32 { 13 }
public var EADDRINUSE: Int32 { 48 }
public var EEXIST: Int32 { 17 }
public var EXDEV: Int32 { 18 }
public var ENOTDIR: Int32 { 20 }
public var EISDIR: Int32 { 21 }
public var EINVAL: Int32 { 22 }
public var ENFILE: Int32 { 23 }
public var EMFILE: Int32 { 24 }
public var EFBIG: Int32 { 27 }
public var ENOSPC: Int32 { 28 }
public var ENOTEMPTY: Int32 { 66 }
public var EROFS: Int32 { 30 }
public var EMLINK: Int32 { 31 }
public var EINPROGRESS: Int32 { 36 }
public var EAGAIN: Int32 { 35 }
public var EWOULDBLOCK: Int32 { 35 }
public var ENOTSUP: Int32 { 45 }
public var ECONNABORTED: Int32 { 53 }
public var ELOOP: Int32 { 62 }
public var ENAMETOOLONG: Int32 { 63 }
public var EDQUOT: Int32 { 69 }
public var ENOSYS: Int32 { 78 }
public var EOPNOTSUPP: Int32 { 102 }
