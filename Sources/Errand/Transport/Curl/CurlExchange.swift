#if os(Linux)
import CCurl

/// One request and its response on their way through libcurl.
///
/// Between the start and the landing, the C side belongs to the loop's thread; before and after, to the creator of the
/// exchange. If the response is a stream, the loop's thread also gives the handle back.
final class CurlExchange: Sendable {
    /// The C side. It is safe to send because it is handed over through the lock of the loop or of the flight.
    struct Handle: @unchecked Sendable {
        let transfer: OpaquePointer
    }

    let handle: Handle
    /// Lands when libcurl has let go of the transfer: with its result, or with `nil` if the transfer was stopped.
    let end = Flight<ccurl_code?, ServiceError>()
    let context: TransportContext
    private let origin: UInt64
    private let loop: CurlLoop
    let upload: CurlUpload?
    private let download: CurlDownload?

    /// Creates the exchange of a request to that origin, which takes its turn on that loop.
    init(
        _ handle: Handle, to origin: UInt64, on loop: CurlLoop, context: TransportContext, upload: CurlUpload? = nil,
        download: CurlDownload? = nil
    ) {
        self.handle = handle
        self.origin = origin
        self.loop = loop
        self.context = context
        self.upload = upload
        self.download = download
        installHooks()
    }

    /// Whether the response is handed over as it comes.
    var isStreamed: Bool { download != nil }

    /// Tells the reader of a streamed response what has come.
    func flush() {
        download?.flush()
    }

    /// Ends the exchange with libcurl's result, or with `nil` if it was stopped.
    func land(_ result: ccurl_code?) {
        upload?.cancel()
        download?.end(result, of: handle, because: upload?.failure)
        end.land(.success(result))
    }

    /// The hooks do not retain the exchange. The loop does, as long as libcurl may call them.
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
        case CCURL_SHARED: loop.noteHTTP2(of: origin)
        case CCURL_CONNECTED: context.note(.waitingForResponse)
        case CCURL_PROGRESS: context.noteProgress()
        case CCURL_HEAD_COMPLETE:
            context.note(.receiving)
            download?.begin(handle)
        default: break
        }
    }
}
#endif
