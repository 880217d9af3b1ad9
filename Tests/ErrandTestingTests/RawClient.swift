import ErrandTesting
import Foundation
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A plain TCP connection to a server on this machine: it reads exactly what the server wrote.
final class RawClient {
    private let descriptor: CInt

    /// Whether the connection was established; otherwise the server refused it.
    let isConnected: Bool

    init(port: Int) {
        #if canImport(Glibc)
        descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        #else
        descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        // Every operation is fast here; a test that waited for ever would not say for what.
        var timeout = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        isConnected = withUnsafePointer(to: &address) { [descriptor] pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }

    /// Sends text; returns `false` if the server has disconnected.
    @discardableResult
    func send(_ text: String) -> Bool {
        send(Data(text.utf8))
    }

    /// Sends bytes; returns `false` if the server has disconnected.
    @discardableResult
    func send(_ data: Data) -> Bool {
        var rest = data[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write($0.baseAddress, $0.count) }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    /// Returns what one system call reads: empty data at the end, `nil` for a reset.
    func read(upTo count: Int = 65_536) -> Data? {
        var buffer = [UInt8](repeating: 0, count: count)
        let result = recv(descriptor, &buffer, count, 0)
        return result < 0 ? nil : Data(buffer[..<result])
    }

    /// Reads until the end; returns `nil` after a reset.
    func readAll() -> Data? {
        var all = Data()
        while let data = read() {
            if data.isEmpty { return all }
            all += data
        }
        return nil
    }

    /// Reads until the end, as text.
    func text() -> String? {
        readAll().map { String(decoding: $0, as: UTF8.self) }
    }

    /// Reads until that many characters have arrived.
    func text(count: Int) -> String {
        var all = Data()
        while all.count < count, let data = read(upTo: count - all.count), !data.isEmpty { all += data }
        return String(decoding: all, as: UTF8.self)
    }

    /// Shuts the connection down in both directions, which wakes everything that waits for it.
    func shut() {
        shutdown(descriptor, CInt(SHUT_RDWR))
    }

    private func write(_ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
        #if canImport(Darwin)
        Darwin.send(descriptor, bytes, count, 0)
        #elseif canImport(Musl)
        Musl.send(descriptor, bytes, count, CInt(MSG_NOSIGNAL))
        #else
        Glibc.send(descriptor, bytes, count, CInt(MSG_NOSIGNAL))
        #endif
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }
}

extension LoopbackServer {
    /// Sends text over a connection of its own, and reads until the end.
    func answer(to text: String) -> String? {
        let client = RawClient(port: port)
        client.send(text)
        return client.text()
    }
}

extension String {
    /// Returns a GET of that path; the server is to close the connection afterwards unless `keeping`.
    static func get(_ path: String, keeping: Bool = false) -> String {
        "GET \(path) HTTP/1.1\r\nHost: loopback\r\n\(keeping ? "" : "Connection: close\r\n")\r\n"
    }
}
