#if os(Linux)
import CCurl

/// One request on its way through libcurl. Between `start` and the landing the C side belongs to the loop's thread,
/// else to whoever has made it. An exchange whose answer is a stream belongs to the loop to the last.
final class CurlExchange: Sendable {
    /// The C side. Not Sendable by itself; the hand-over through the loop's lock is what makes it safe.
    struct Handle: @unchecked Sendable {
        let transfer: OpaquePointer
    }

    let handle: Handle
    /// Lands with libcurl's result when the transfer has ended and libcurl has let go of it; `nil` if it was stopped.
    let end = Flight<ccurl_code?>()
    let context: TransportContext
    let upload: CurlUpload?
    private let download: CurlDownload?

    init(_ handle: Handle, context: TransportContext, upload: CurlUpload? = nil, download: CurlDownload? = nil) {
        self.handle = handle
        self.context = context
        self.upload = upload
        self.download = download
        installHooks()
    }

    /// Whether the answer is handed over as it comes.
    var isStreamed: Bool { download != nil }

    /// Hands over what has come.
    func flush() {
        download?.flush()
    }

    /// Ends the exchange: with libcurl's result, or with `nil` if it was stopped before.
    func land(_ result: ccurl_code?) {
        upload?.cancel()
        download?.end(result, of: handle, because: upload?.failure)
        end.land(.success(result))
    }

    /// The hooks do not keep the exchange: the loop does, as long as libcurl may call them.
    private func installHooks() {
        var hooks = ccurl_hooks()
        hooks.context = Unmanaged.passUnretained(self).toOpaque()
        hooks.on_step = { context, step in CurlExchange.of(context)?.note(step) }
        if upload != nil {
            hooks.on_upload = { context, room, count in
                guard let room else { return 0 }
                return CurlExchange.of(context)?.upload?.fill(UnsafeMutableRawBufferPointer(start: room, count: count))
                    ?? CCURL_ABORT
            }
        }
        if download != nil {
            hooks.on_body = { context, bytes, count in
                guard let bytes else { return 0 }
                return CurlExchange.of(context)?.download?.take(UnsafeRawBufferPointer(start: bytes, count: count))
                    ?? CCURL_ABORT
            }
        }
        ccurl_set_hooks(handle.transfer, hooks)
    }

    private static func of(_ context: UnsafeMutableRawPointer?) -> CurlExchange? {
        context.map { Unmanaged<CurlExchange>.fromOpaque($0).takeUnretainedValue() }
    }

    private func note(_ step: ccurl_step) {
        switch step {
        case CCURL_CONNECTED: context.note(.waitingForResponse)
        case CCURL_HEAD_COMPLETE:
            context.note(.receiving)
            download?.begin(handle)
        default: break
        }
    }
}
#endif
