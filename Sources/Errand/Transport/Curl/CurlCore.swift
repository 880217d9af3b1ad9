#if os(Linux)
import CCurl

/// The C side of a loop, until it is freed: then there is nothing to wake or to watch.
final class CurlCore: Sendable {
    /// Only the thread of the loop uses it, or a caller's in its place, but for what is here.
    private struct Pointer: @unchecked Sendable {
        let loop: OpaquePointer
    }

    /// The number of the loop among those of its transport.
    let number: Int
    private let pointer: Pointer
    private let isGone = Lock(false)

    var loop: OpaquePointer { pointer.loop }

    /// Creates the C side for transfers with these handles; `nil` if there is no memory for it, or no descriptor left.
    init?(_ handles: CurlHandles, number: Int = 0) {
        guard let loop = ccurl_loop_new(handles.source, CInt(number)) else { return nil }
        self.number = number
        pointer = Pointer(loop: loop)
        // Streams of HTTP/2 and HTTP/3 share a connection.
        ccurl_loop_set_long(loop, CCURLMOPT_PIPELINING, CCURLPIPE_MULTIPLEX)
    }

    /// Ends the wait of the thread.
    func wake() {
        isGone.withLock { isGone in
            if !isGone { ccurl_loop_wake(loop) }
        }
    }

    /// Shuts down the connection that has kept a thread for too long. Returns whether a thread is working.
    func watch() -> Bool {
        isGone.withLock { !$0 && ccurl_loop_watch(loop) }
    }

    func free() {
        isGone.withLock { isGone in
            if !isGone { ccurl_loop_free(loop) }
            isGone = true
        }
    }

    deinit {
        free()
    }
}
#endif
