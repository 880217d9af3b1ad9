import Foundation

/// A connection to a port of this machine, byte by byte. It blocks, on a thread of its own.
final class RawConnection: Sendable {
    private let descriptor: CInt

    /// Connects; `nil` if nothing listens there.
    init?(_ port: Int, isIPv6: Bool = false) {
        #if canImport(Glibc)
        let kind = CInt(SOCK_STREAM.rawValue)
        #else
        let kind = SOCK_STREAM
        #endif
        descriptor = socket(isIPv6 ? AF_INET6 : AF_INET, kind, 0)
        func connected<Address>(_ address: Address) -> Bool {
            withUnsafePointer(to: address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                    connect(descriptor, pointer, socklen_t(MemoryLayout<Address>.size)) == 0
                }
            }
        }
        // A server that never responds fails the test and does not hang it.
        var limit = timeval(tv_sec: 120, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var (four, six) = (sockaddr_in(), sockaddr_in6())
        four.sin_family = sa_family_t(AF_INET)
        four.sin_port = UInt16(port).bigEndian
        four.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        six.sin6_family = sa_family_t(AF_INET6)
        six.sin6_port = UInt16(port).bigEndian
        six.sin6_addr = in6addr_loopback
        guard isIPv6 ? connected(six) : connected(four) else { return nil }
    }

    /// Sends text. Returns `false` if the other side has closed the connection.
    @discardableResult
    func send(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        #if canImport(Darwin)
        let flags: CInt = 0
        #else
        let flags = CInt(MSG_NOSIGNAL)
        #endif
        return Foundation.send(descriptor, bytes, bytes.count, flags) == bytes.count
    }

    /// Reads until the other side closes the connection; `nil` if it does not.
    func readAll() async -> String? {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { [self] in
                var text: [UInt8] = []
                var chunk = [UInt8](repeating: 0, count: 4096)
                var count = 0
                repeat {
                    count = recv(descriptor, &chunk, chunk.count, 0)
                    text += chunk.prefix(max(0, count))
                } while count > 0
                let isOpen = count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)
                continuation.resume(returning: isOpen ? nil : String(decoding: text, as: UTF8.self))
            }
        }
    }

    deinit { close(descriptor) }
}
