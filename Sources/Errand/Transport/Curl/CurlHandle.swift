#if os(Linux)
import CCurl

/// The C side of one exchange, which serves the next one afterwards.
///
/// It is safe to send because it is handed over through the lock of the loop or of the promise.
struct CurlHandle: @unchecked Sendable {
    let transfer: OpaquePointer

    /// The number of the loop that it was last on. On another, it would be slower: much of its memory comes from there.
    var loop: Int { Int(ccurl_transfer_loop_number(transfer)) }
}

/// Where the handles of a transport come from: all of them share their TLS sessions and the addresses of hosts.
///
/// It is safe to send because any thread may use the C side.
final class CurlHandles: @unchecked Sendable {
    let source: OpaquePointer

    /// Creates the C side; `nil` if there is no memory for it.
    init?() {
        guard let source = ccurl_handles_new() else { return nil }
        self.source = source
    }

    /// Returns a new handle.
    func new() throws(ServiceError) -> CurlHandle {
        guard let transfer = ccurl_transfer_new(source) else { throw .curlHasNoMemory }
        return CurlHandle(transfer: transfer)
    }

    deinit {
        ccurl_handles_release(source)
    }
}
#endif
