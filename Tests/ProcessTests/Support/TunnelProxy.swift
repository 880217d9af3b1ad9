#if os(Linux)
import ErrandTestSupport
import Foundation

/// A proxy on 127.0.0.1 that makes tunnels: it responds to each CONNECT and then forwards bytes in both directions.
final class TunnelProxy: Sendable {
    struct StartFailure: Error {}

    let port: Int
    private let listener: CInt
    private let heads = Noted<[String]>([])
    private let frozen = Noted<Set<CInt>>([])
    private let tunnels = Noted<Set<CInt>>([])

    init() throws {
        listener = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        var address = Self.loopback(port: 0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let listener = listener
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, length) == 0 && listen(listener, 64) == 0 && getsockname(listener, $0, &length) == 0
            }
        }
        guard isListening else { throw StartFailure() }
        port = Int(UInt16(bigEndian: address.sin_port))
        Thread.detachNewThread { [heads, tunnels, frozen] in
            while case let client = accept(listener, nil, nil), client >= 0 {
                tunnels.update { _ = $0.insert(client) }
                Thread.detachNewThread {
                    Self.serve(client, noting: heads) { frozen.value.contains(client) }
                    tunnels.update { _ = $0.remove(client) }
                    frozen.update { _ = $0.remove(client) }
                    close(client)
                }
            }
            close(listener)
        }
    }

    /// Freezes the existing tunnels: they stay open and forward nothing; new ones work.
    func freeze() {
        frozen.value = tunnels.value
    }

    /// The heads of the requests that it received.
    var received: [String] { heads.value }

    deinit {
        // Wakes the thread that waits for a connection.
        shutdown(listener, CInt(SHUT_RDWR))
    }

    private static func serve(
        _ client: CInt, noting heads: Noted<[String]>, isFrozen: @escaping @Sendable () -> Bool
    ) {
        var head: [UInt8] = []
        while !head.ends(with: "\r\n\r\n".utf8) {
            var byte: UInt8 = 0
            guard recv(client, &byte, 1, 0) == 1 else { return }
            head.append(byte)
        }
        let text = String(decoding: head, as: UTF8.self)
        heads.update { $0.append(text) }
        // The line is "CONNECT localhost:8443 HTTP/1.1"; whatever the name, the proxy connects to this machine.
        let target = text.split(separator: " ").dropFirst().first?.split(separator: ":").last.flatMap { UInt16($0) }
        guard text.hasPrefix("CONNECT "), let target, let server = connection(to: target) else {
            _ = write(Array("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n".utf8)[...], to: client)
            return
        }
        defer { close(server) }
        guard write(Array("HTTP/1.1 200 Connection established\r\n\r\n".utf8)[...], to: client) else { return }
        let isDone = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            pass(from: client, to: server, unless: isFrozen)
            isDone.signal()
        }
        pass(from: server, to: client, unless: isFrozen)
        isDone.wait()
    }

    /// Forwards bytes until one side has closed, and then shuts both sides down.
    private static func pass(from source: CInt, to target: CInt, unless isFrozen: () -> Bool) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while case let count = recv(source, &buffer, buffer.count, 0), count > 0 {
            guard !isFrozen() else { continue }
            guard write(buffer[..<count], to: target) else { break }
        }
        shutdown(source, CInt(SHUT_RDWR))
        shutdown(target, CInt(SHUT_RDWR))
    }

    private static func write(_ bytes: ArraySlice<UInt8>, to target: CInt) -> Bool {
        var rest = bytes
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(target, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL)) }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    private static func connection(to port: UInt16) -> CInt? {
        let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        var address = loopback(port: port)
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        if result == 0 { return descriptor }
        close(descriptor)
        return nil
    }

    private static func loopback(port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }
}

extension Array where Element == UInt8 {
    fileprivate func ends(with end: some Collection<UInt8>) -> Bool { suffix(end.count).elementsEqual(end) }
}
#endif
