// Declarations of Apple's, without a behavior: see Tests/AppleStubs/README.md.
// swift-format-ignore-file

// https://developer.apple.com/library/archive/documentation/System/Conceptual/ManPages_iPhoneOS/man2/socket.2.html
public typealias sa_family_t = UInt8
public typealias in_port_t = UInt16
public typealias in_addr_t = UInt32
public typealias socklen_t = UInt32
public typealias nfds_t = UInt32

public struct in_addr: BitwiseCopyable {
    public var s_addr: in_addr_t = 0
    public init() {}
    public init(s_addr: in_addr_t) { self.s_addr = s_addr }
}
public struct sockaddr: BitwiseCopyable {
    public var sa_len: UInt8 = 0
    public var sa_family: sa_family_t = 0
    public init() {}
}
public struct sockaddr_in: BitwiseCopyable {
    public var sin_len: UInt8 = 0
    public var sin_family: sa_family_t = 0
    public var sin_port: in_port_t = 0
    public var sin_addr = in_addr()
    public init() {}
}
public struct in6_addr: BitwiseCopyable, Sendable {
    public init() {}
}
public struct sockaddr_in6: BitwiseCopyable {
    public var sin6_len: UInt8 = 0
    public var sin6_family: sa_family_t = 0
    public var sin6_port: in_port_t = 0
    public var sin6_flowinfo: UInt32 = 0
    public var sin6_addr = in6_addr()
    public var sin6_scope_id: UInt32 = 0
    public init() {}
}
public let in6addr_loopback = in6_addr()
public struct linger: BitwiseCopyable {
    public var l_onoff: Int32 = 0
    public var l_linger: Int32 = 0
    public init() {}
    public init(l_onoff: Int32, l_linger: Int32) {}
}
public struct pollfd: BitwiseCopyable {
    public var fd: Int32 = 0
    public var events: Int16 = 0
    public var revents: Int16 = 0
    public init() {}
    public init(fd: Int32, events: Int16, revents: Int16) {}
}

public var AF_UNSPEC: Int32 { 0 }
public var AF_INET: Int32 { 2 }
public var AF_INET6: Int32 { 30 }
public var SOCK_STREAM: Int32 { 1 }
public var SOL_SOCKET: Int32 { 0xffff }
public var SO_LINGER: Int32 { 0x0080 }
public var SO_KEEPALIVE: Int32 { 0x0008 }
public var SO_ERROR: Int32 { 0x1007 }
public var SO_NOSIGPIPE: Int32 { 0x1022 }
public var SO_RCVTIMEO: Int32 { 0x1006 }
public var SO_RCVBUF: Int32 { 0x1002 }
public var IPPROTO_TCP: Int32 { 6 }
public var TCP_NODELAY: Int32 { 0x01 }
public var SHUT_RD: Int32 { 0 }
public var SHUT_WR: Int32 { 1 }
public var SHUT_RDWR: Int32 { 2 }
public var POLLIN: Int32 { 0x0001 }
public var POLLOUT: Int32 { 0x0004 }
public var F_GETFL: Int32 { 3 }
public var F_SETFL: Int32 { 4 }

@discardableResult public func socket(_ domain: Int32, _ type: Int32, _ number: Int32) -> Int32 { -1 }
@discardableResult
public func bind(_ descriptor: Int32, _ address: UnsafePointer<sockaddr>!, _ length: socklen_t) -> Int32 { -1 }
@discardableResult
public func connect(_ descriptor: Int32, _ address: UnsafePointer<sockaddr>!, _ length: socklen_t) -> Int32 { -1 }
@discardableResult public func listen(_ descriptor: Int32, _ backlog: Int32) -> Int32 { -1 }
@discardableResult public func accept(
    _ descriptor: Int32, _ address: UnsafeMutablePointer<sockaddr>!, _ length: UnsafeMutablePointer<socklen_t>!
) -> Int32 { -1 }
@discardableResult public func getsockname(
    _ descriptor: Int32, _ address: UnsafeMutablePointer<sockaddr>!, _ length: UnsafeMutablePointer<socklen_t>!
) -> Int32 { -1 }
@discardableResult
public func recv(_ descriptor: Int32, _ buffer: UnsafeMutableRawPointer!, _ count: Int, _ flags: Int32) -> Int { -1 }
@discardableResult
public func send(_ descriptor: Int32, _ buffer: UnsafeRawPointer!, _ count: Int, _ flags: Int32) -> Int { -1 }
@discardableResult public func shutdown(_ descriptor: Int32, _ how: Int32) -> Int32 { -1 }
@discardableResult public func setsockopt(
    _ descriptor: Int32, _ level: Int32, _ name: Int32, _ value: UnsafeRawPointer!, _ length: socklen_t
) -> Int32 { -1 }
@discardableResult
public func poll(_ entries: UnsafeMutablePointer<pollfd>!, _ count: nfds_t, _ timeout: Int32) -> Int32 { -1 }
@discardableResult public func getsockopt(
    _ descriptor: Int32, _ level: Int32, _ name: Int32, _ value: UnsafeMutableRawPointer!,
    _ length: UnsafeMutablePointer<socklen_t>!
) -> Int32 { -1 }

// https://developer.apple.com/library/archive/documentation/System/Conceptual/ManPages_iPhoneOS/
// man3/getaddrinfo.3.html
public struct addrinfo {
    public var ai_flags: Int32 = 0
    public var ai_family: Int32 = 0
    public var ai_socktype: Int32 = 0
    public var ai_protocol: Int32 = 0
    public var ai_addrlen: socklen_t = 0
    public var ai_canonname: UnsafeMutablePointer<CChar>!
    public var ai_addr: UnsafeMutablePointer<sockaddr>!
    public var ai_next: UnsafeMutablePointer<addrinfo>!
    public init() {}
}
@discardableResult public func getaddrinfo(
    _ host: UnsafePointer<CChar>!, _ service: UnsafePointer<CChar>!, _ hints: UnsafePointer<addrinfo>!,
    _ first: UnsafeMutablePointer<UnsafeMutablePointer<addrinfo>?>!
) -> Int32 { -1 }
public func freeaddrinfo(_ first: UnsafeMutablePointer<addrinfo>!) {}
public func gai_strerror(_ code: Int32) -> UnsafePointer<CChar>! { nil }
