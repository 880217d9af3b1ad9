#if os(Linux)
import CCurl
import Errand

/// A connection over TLS, by libcurl.
final class RedisCurlStream: RedisStream {
    private let stream: OpaquePointer
    let descriptor: CInt

    private init(_ stream: OpaquePointer) {
        self.stream = stream
        descriptor = ccurl_stream_descriptor(stream)
    }

    deinit { ccurl_stream_close(stream) }

    /// Connects, and checks the server's certificate. Blocks until the deadline at most.
    static func connected(
        to address: RedisAddress, trusting authorities: String?, until deadline: Instant
    ) throws(FleetStoreError) -> RedisCurlStream {
        guard ccurl_open() else {
            throw FleetStoreError(.other, "\(address) cannot be reached: \(String(cString: ccurl_problem()))")
        }
        let left = SystemTime.system.now.duration(to: deadline).wholeNanoseconds / 1_000_000
        var result = CCURLE_OK
        var words = [CChar](repeating: 0, count: Int(CCURL_ERROR_SIZE))
        let host = address.host.utf8.contains(UInt8(ascii: ":")) ? "[\(address.host)]" : address.host
        let url = "https://\(host):\(address.port)/"
        if let stream = ccurl_stream_open(url, max(1, Int(left)), authorities, &result, &words) {
            return RedisCurlStream(stream)
        }
        let own = String(decoding: words.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let reason = own.isEmpty ? String(cString: ccurl_describe(result)) : own
        throw FleetStoreError(.unreachable, "\(address) cannot be reached: \(reason)")
    }

    var hasUnwritten: Bool { ccurl_stream_has_unwritten(stream) }

    func read(into bytes: inout [UInt8], upTo limit: Int) -> RedisProgress {
        var result = 0
        bytes += [UInt8](unsafeUninitializedCapacity: limit) { buffer, filled in
            result = ccurl_stream_read(stream, buffer.baseAddress, limit)
            filled = max(0, result)
        }
        return Self.progress(result)
    }

    func write(_ bytes: ArraySlice<UInt8>) -> RedisProgress {
        Self.progress(bytes.withUnsafeBytes { ccurl_stream_write(stream, $0.baseAddress, $0.count) })
    }

    private static func progress(_ count: Int) -> RedisProgress {
        switch count {
        case Int(CCURL_STREAM_BLOCKED): .blocked
        case 0...: .bytes(count)
        default: .ended(nil)
        }
    }
}
#endif
