import Errand
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
import Synchronization
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#else
import Darwin
#endif

/// The number of bytes received and sent, over all connections of a server.
final class LoopbackTraffic: Sendable {
    let received = Atomic(0)
    let sent = Atomic(0)
}

/// A socket on this machine, of TCP or a Unix socket, used from one thread that may block.
final class LoopbackSocket: Sendable {
    #if canImport(Glibc)
    private static let stream = CInt(SOCK_STREAM.rawValue)
    #else
    private static let stream = SOCK_STREAM
    #endif
    #if canImport(Darwin)
    private static let sendFlags: CInt = 0
    #else
    // A peer that has closed the connection causes an error, not a signal that ends the process.
    private static let sendFlags = CInt(MSG_NOSIGNAL)
    #endif

    let descriptor: CInt
    private let traffic: LoopbackTraffic
    /// The file of a Unix socket that listens, which ends with it.
    private let path: String?
    private let end = Lock(End())

    private struct End {
        var hasCome = false
        /// What to call when it comes.
        var action: (@Sendable () -> Void)?
    }

    private init(descriptor: CInt, traffic: LoopbackTraffic, path: String? = nil) {
        self.descriptor = descriptor
        self.traffic = traffic
        self.path = path
        // A program that is started while the connection is open would keep the connection open.
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        #if canImport(Darwin)
        setOption(SOL_SOCKET, SO_NOSIGPIPE, CInt(1))
        #endif
    }

    /// Binds a free port of 127.0.0.1 without listening, so that connections are refused. Returns `nil` if the system
    /// has none.
    static func bound(counting traffic: LoopbackTraffic) -> (socket: LoopbackSocket, port: Int)? {
        let socket = LoopbackSocket(descriptor: socket(AF_INET, stream, 0), traffic: traffic)
        guard socket.descriptor >= 0 else { return nil }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(socket.descriptor, pointer, length) == 0
                    && getsockname(socket.descriptor, pointer, &length) == 0
            }
        }
        return isBound ? (socket, Int(UInt16(bigEndian: address.sin_port))) : nil
    }

    #if os(Linux)
    /// Binds a Unix socket at that path, where no file may be. Returns `nil` if the system refuses.
    static func bound(to path: String, counting traffic: LoopbackTraffic) -> LoopbackSocket? {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        // A zero ends the path.
        let room = MemoryLayout.size(ofValue: address.sun_path) - 1
        guard !path.utf8.isEmpty, path.utf8.count <= room else { return nil }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let descriptor = socket(AF_UNIX, stream, 0)
        let isBound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
        let socket = LoopbackSocket(descriptor: descriptor, traffic: traffic, path: isBound ? path : nil)
        return isBound ? socket : nil
    }
    #endif

    /// Starts to listen. Returns `false` if the system refuses.
    func listens() -> Bool {
        listen(descriptor, 1024) == 0
    }

    /// Waits for the next connection; `nil` when the socket is shut down.
    func accepted() -> LoopbackSocket? {
        while true {
            let descriptor = accept(descriptor, nil, nil)
            if descriptor >= 0 {
                let socket = LoopbackSocket(descriptor: descriptor, traffic: traffic)
                // Responses are written in a few pieces; none should wait for the acknowledgment of another.
                socket.setOption(CInt(IPPROTO_TCP), TCP_NODELAY, CInt(1))
                return socket
            }
            switch errno {
            case EINTR, ECONNABORTED: continue
            // The process has no descriptor left; one may become free.
            case EMFILE, ENFILE: pause(.milliseconds(10))
            default: return nil
            }
        }
    }

    /// Waits for bytes. Returns none at the end of the stream, or when the connection is gone.
    func read(upTo count: Int = 65_536) -> [UInt8] {
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            var result = -1
            repeat { result = recv(descriptor, buffer.baseAddress, count, 0) } while result < 0 && errno == EINTR
            filled = max(result, 0)
        }
        traffic.received.wrappingAdd(bytes.count, ordering: .relaxed)
        return bytes
    }

    /// Writes all bytes. Returns `false` if the client has closed the connection.
    func write(_ bytes: Data) -> Bool {
        bytes.withUnsafeBytes { buffer in
            var rest = buffer[...]
            while !rest.isEmpty {
                let part = UnsafeRawBufferPointer(rebasing: rest)
                let result = send(descriptor, part.baseAddress, part.count, Self.sendFlags)
                if result < 0, errno == EINTR { continue }
                guard result > 0 else { return false }
                traffic.sent.wrappingAdd(result, ordering: .relaxed)
                rest = rest.dropFirst(result)
            }
            return true
        }
    }

    /// Waits for `duration`, or until the connection is gone or shut down.
    func pause(_ duration: Duration) {
        let end = ContinuousClock.now.advanced(by: duration)
        while true {
            let (seconds, attoseconds) = ContinuousClock.now.duration(to: end).components
            guard seconds >= 0, attoseconds > 0 || seconds > 0 else { return }
            // Rounded up, to avoid a busy loop in the last millisecond; at most a day, to fit into the argument.
            let milliseconds = min(seconds, 86_400) * 1000 + attoseconds / 1_000_000_000_000_000 + 1
            var entry = pollfd(fd: descriptor, events: 0, revents: 0)
            if poll(&entry, 1, CInt(milliseconds)) > 0 { return }
        }
    }

    /// Makes the close of the connection a reset.
    func abort() {
        setOption(SOL_SOCKET, SO_LINGER, linger(l_onoff: 1, l_linger: 0))
    }

    /// Wakes all threads that wait on the socket, now and later, and calls what `whenShut` was given.
    func shut() {
        _ = shutdown(descriptor, CInt(SHUT_RDWR))
        let action = end.withLock { end in
            end.hasCome = true
            return end.action
        }
        action?()
    }

    /// Calls the action when the socket is shut down, or now if it has been. The action replaces the one before; `nil`
    /// removes it.
    func whenShut(_ action: (@Sendable () -> Void)?) {
        let hasCome = end.withLock { end in
            end.action = action
            return end.hasCome
        }
        if hasCome { action?() }
    }

    private func setOption<Value: BitwiseCopyable>(_ level: CInt, _ name: CInt, _ value: Value) {
        var value = value
        _ = setsockopt(descriptor, level, name, &value, socklen_t(MemoryLayout<Value>.size))
    }

    deinit {
        if descriptor >= 0 { _ = close(descriptor) }
        if let path { _ = unlink(path) }
    }
}
