#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#else
import Darwin
#endif

/// A TCP socket of a receiver, which never blocks.
final class ReceiverSocket: Sendable {
    /// The versions of IP.
    enum Family: Sendable { case four, six }

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

    private init(_ descriptor: CInt) {
        self.descriptor = descriptor
        // The program that opens the browser must not keep the connection.
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
        #if canImport(Darwin)
        var on: CInt = 1
        _ = setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &on, socklen_t(MemoryLayout<CInt>.size))
        #endif
    }

    /// So many ports are tried that the system has chosen: at another address, each may be in use.
    private static let mostPorts = 16

    /// Listens at the loopback addresses of those versions, all at one port; `nil` if the first has none, or if the
    /// port of another is in use: the browser may choose that address, and the code would go to whoever listens there.
    /// A version that the machine does not have is left out.
    static func listening(at families: [Family], port: Int?) -> (sockets: [ReceiverSocket], port: Int)? {
        for _ in 0..<(port == nil ? mostPorts : 1) {
            if let found = attempt(families, port: port) { return found }
        }
        return nil
    }

    private static func attempt(_ families: [Family], port: Int?) -> (sockets: [ReceiverSocket], port: Int)? {
        guard let first = families.first, case .success(let socket) = bound(first, port: port ?? 0),
            let found = socket.port
        else { return nil }
        var sockets = [socket]
        for family in families.dropFirst() {
            switch bound(family, port: found) {
            case .success(let socket): sockets.append(socket)
            case .failure(let error): if error.code == EADDRINUSE { return nil }
            }
        }
        guard sockets.allSatisfy({ listen($0.descriptor, 16) == 0 }) else { return nil }
        return (sockets, found)
    }

    private static func bound(_ family: Family, port: Int) -> Result<ReceiverSocket, SystemError> {
        let descriptor = socket(family == .four ? AF_INET : AF_INET6, stream, 0)
        guard descriptor >= 0 else { return .failure(SystemError(errno)) }
        let result = ReceiverSocket(descriptor)
        guard port == 0 || result.mayReusePort(), result.bind(family, port: UInt16(clamping: port)) else {
            return .failure(SystemError(errno))
        }
        return .success(result)
    }

    /// A port that was given may have been used a minute ago, by the sign-in before this one.
    private func mayReusePort() -> Bool {
        #if canImport(Darwin)
        return true
        #else
        var on: CInt = 1
        return setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<CInt>.size)) == 0
        #endif
    }

    private func bind(_ family: Family, port: UInt16) -> Bool {
        func bind<Address>(_ address: Address) -> Bool {
            withUnsafePointer(to: address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                    #if canImport(Glibc)
                    Glibc.bind(descriptor, pointer, socklen_t(MemoryLayout<Address>.size)) == 0
                    #elseif canImport(Musl)
                    Musl.bind(descriptor, pointer, socklen_t(MemoryLayout<Address>.size)) == 0
                    #elseif canImport(Android)
                    Android.bind(descriptor, pointer, socklen_t(MemoryLayout<Address>.size)) == 0
                    #else
                    Darwin.bind(descriptor, pointer, socklen_t(MemoryLayout<Address>.size)) == 0
                    #endif
                }
            }
        }
        switch family {
        case .four:
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            return bind(address)
        case .six:
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            address.sin6_addr = in6addr_loopback
            return bind(address)
        }
    }

    /// The port at which it listens.
    private var port: Int? {
        // The larger one; the port is at the same place in both.
        var address = sockaddr_in6()
        var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        return result == 0 ? Int(UInt16(bigEndian: address.sin6_port)) : nil
    }

    /// Takes the next connection; `nil` if there is none now.
    func accepted() -> ReceiverSocket? {
        let connection = accept(descriptor, nil, nil)
        guard connection < 0 else { return ReceiverSocket(connection) }
        // The process has no descriptor left; one may become free, and the connection stays until then.
        if errno == EMFILE || errno == ENFILE { _ = poll(nil, 0, 10) }
        return nil
    }

    /// What a read or a write has done.
    enum Progress: Sendable, Equatable {
        case bytes(Int)
        /// Nothing can be done now.
        case blocked
        case ended
    }

    /// Reads what is there.
    func read(into bytes: inout [UInt8], upTo limit: Int) -> Progress {
        var chunk = [UInt8](repeating: 0, count: max(1, min(limit, 4096)))
        let count = recv(descriptor, &chunk, chunk.count, 0)
        if count > 0 { bytes += chunk.prefix(count) }
        return Self.progress(count)
    }

    func write(_ bytes: ArraySlice<UInt8>) -> Progress {
        Self.progress(bytes.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Self.sendFlags) })
    }

    private static func progress(_ count: Int) -> Progress {
        if count > 0 { return .bytes(count) }
        return count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) ? .blocked : .ended
    }

    /// Says that nothing more will be written.
    func finishWriting() {
        _ = shutdown(descriptor, CInt(SHUT_WR))
    }

    deinit { _ = close(descriptor) }
}
