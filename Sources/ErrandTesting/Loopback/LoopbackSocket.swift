#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A TCP socket on this machine, used from one thread that may wait.
final class LoopbackSocket: Sendable {
    #if canImport(Darwin)
    private static let stream = SOCK_STREAM
    private static let sendFlags: CInt = 0
    #else
    private static let stream = CInt(SOCK_STREAM.rawValue)
    // A peer that has gone is an error to read, not a signal that ends the process.
    private static let sendFlags = CInt(MSG_NOSIGNAL)
    #endif

    let descriptor: CInt

    private init(descriptor: CInt) {
        self.descriptor = descriptor
        #if canImport(Darwin)
        setOption(SOL_SOCKET, SO_NOSIGPIPE, CInt(1))
        #endif
    }

    /// Listens on a free port of 127.0.0.1; `nil` if the system will not have it.
    static func listening() -> (socket: LoopbackSocket, port: Int)? {
        let socket = LoopbackSocket(descriptor: socket(AF_INET, stream, 0))
        guard socket.descriptor >= 0 else { return nil }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(socket.descriptor, pointer, length) == 0 && listen(socket.descriptor, 1024) == 0
                    && getsockname(socket.descriptor, pointer, &length) == 0
            }
        }
        return bound ? (socket, Int(UInt16(bigEndian: address.sin_port))) : nil
    }

    /// Waits for the next connection; `nil` when the socket is shut.
    func accepted() -> LoopbackSocket? {
        while true {
            let descriptor = accept(descriptor, nil, nil)
            if descriptor >= 0 {
                let socket = LoopbackSocket(descriptor: descriptor)
                // Answers are written in a few pieces; none should wait for the others to be acknowledged.
                socket.setOption(CInt(IPPROTO_TCP), TCP_NODELAY, CInt(1))
                return socket
            }
            guard errno == EINTR || errno == ECONNABORTED || errno == EMFILE else { return nil }
        }
    }

    /// Waits for bytes; none at the end of the stream, or when the connection is gone.
    func read(upTo count: Int = 65_536) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            var result = -1
            repeat { result = recv(descriptor, buffer.baseAddress, count, 0) } while result < 0 && errno == EINTR
            filled = max(result, 0)
        }
    }

    /// Writes all bytes; `false` if the other side has gone.
    func write(_ bytes: some Sequence<UInt8>) -> Bool {
        let bytes = Array(bytes)
        var written = 0
        while written < bytes.count {
            let result = bytes.withUnsafeBytes { buffer in
                send(descriptor, buffer.baseAddress?.advanced(by: written), buffer.count - written, Self.sendFlags)
            }
            if result < 0, errno == EINTR { continue }
            guard result > 0 else { return false }
            written += result
        }
        return true
    }

    /// Ends the connection with a reset in the place of an orderly close, once it is closed.
    func abort() {
        setOption(SOL_SOCKET, SO_LINGER, linger(l_onoff: 1, l_linger: 0))
    }

    /// Wakes whoever waits on the socket, for good.
    func shut() {
        #if canImport(Darwin)
        _ = shutdown(descriptor, SHUT_RDWR)
        #else
        _ = shutdown(descriptor, CInt(SHUT_RDWR))
        #endif
    }

    private func setOption<Value: BitwiseCopyable>(_ level: CInt, _ name: CInt, _ value: Value) {
        var value = value
        _ = setsockopt(descriptor, level, name, &value, socklen_t(MemoryLayout<Value>.size))
    }

    deinit {
        if descriptor >= 0 { _ = close(descriptor) }
    }
}
