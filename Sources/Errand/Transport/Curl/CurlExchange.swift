#if os(Linux)
import CCurl

/// What an exchange runs on: a loop.
protocol CurlRunner: AnyObject, Sendable {
    /// Whether it has not come back to its jobs for long.
    var isHeldUp: Bool { get }
    /// Resumes an exchange that has paused.
    func resume(_ exchange: CurlExchange)
    /// Ends the exchange, if it runs there.
    func cancel(_ exchange: CurlExchange, isOutOfTime: Bool)
}

/// One request and its response on their way through libcurl.
///
/// Between the start and the end, the C side belongs to the thread of its loop; before and after, to the creator of the
/// exchange. If the response is a stream, the loop's thread also gives the handle back.
final class CurlExchange: Sendable {
    /// A coded body, and the head that says how it is coded.
    typealias Coded = (body: CodedBody, head: CurlHead)

    private struct State {
        /// Whether a caller wants no response any more.
        var isCancelled = false
        /// libcurl's result; `nil` if the transfer was stopped, or still runs.
        var result: ccurl_code?
        /// The body of a response that is returned whole, if it is coded.
        var coded: Coded?
        /// The loop that it is on, from its beginning to its end.
        var loop: (any CurlRunner)?
        /// What that was chosen by; `nil` if there is only one.
        var place: CurlChoice.Place?
        /// What ends the lookup of its host, if others wait for that.
        var endLookup: (@Sendable (CurlExchange) -> Void)?
        /// How the request goes about HTTP/3, until what it shows is noted.
        var way = CurlHTTP3.Way.usual
    }

    let handle: CurlHandle
    /// Completes when there is something to do for the caller who wants a whole response: libcurl has let go of the
    /// transfer, or a good part of a coded body has come.
    let ready = Latch()
    private let state = Lock(State())
    let context: TransportContext
    let server: Origin
    /// The number of its origin.
    let origin: UInt64
    /// Whether its host has a name that has to be looked up.
    let hasName: Bool
    let isEncrypted: Bool
    private let pool: CurlPool
    let upload: CurlUpload?
    private let download: CurlDownload?

    /// Creates the exchange of a request to that origin, whose turn it is.
    init(
        _ handle: CurlHandle, to origin: Origin, in pool: CurlPool, context: TransportContext,
        upload: CurlUpload? = nil, download: CurlDownload? = nil
    ) {
        self.handle = handle
        server = origin
        self.origin = origin.number
        hasName = !origin.isLoopback && !origin.isAddress
        isEncrypted = origin.scheme == "https"
        self.pool = pool
        self.context = context
        self.upload = upload
        self.download = download
        installHooks()
    }

    /// Whether the response is handed over as it comes.
    var isStreamed: Bool { download != nil }

    /// libcurl's result; `nil` if the transfer was stopped, or still runs.
    var result: ccurl_code? { state.withLock { $0.result } }
    /// The body of a whole response, if it is coded.
    var coded: Coded? { state.withLock { $0.coded } }

    /// Whether the exchange was canceled: then it must not begin.
    var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// Remembers that the exchange was canceled, perhaps before it is started.
    func noteCancellation() {
        state.withLock { $0.isCancelled = true }
    }

    /// The loop that it is on; `nil` before its beginning and after its end.
    var loop: (any CurlRunner)? { state.withLock { $0.loop } }

    /// Begins on that loop. Returns `false` if the exchange was canceled.
    func begin(on loop: any CurlRunner, at place: CurlChoice.Place?) -> Bool {
        state.withLock { state in
            guard !state.isCancelled else { return false }
            state.loop = loop
            state.place = place
            return true
        }
    }

    /// Whether it begins at once: its host need not be looked up, and it is known whether requests to it share
    /// connections.
    var needsNoLookup: Bool { !hasName && !mayTurnOutToShare }

    /// Whether it is unknown if requests to its origin share a connection.
    var mayTurnOutToShare: Bool { isEncrypted && pool.multiplexing.withLock { $0.isUnknown(to: origin) } }

    /// Whether others wait for the lookup of its host.
    var looksUp: Bool { state.withLock { $0.endLookup != nil } }

    /// Notes that others wait for the lookup of its host, which ends with the exchange at the latest, by that closure.
    func noteLookup(_ end: @escaping @Sendable (CurlExchange) -> Void) {
        state.withLock { $0.endLookup = end }
    }

    /// Notes that nobody waits any more.
    func noteEndOfLookup() {
        state.withLock { $0.endLookup = nil }
    }

    /// Chooses how the request goes about HTTP/3.
    func choose(_ way: CurlHTTP3.Way) {
        ccurl_transfer_choose_http3(handle.transfer, way.number)
        state.withLock { $0.way = way }
    }

    /// Notes what the request shows about HTTP/3, unless that was noted before. `hasFailed` is whether it shows a
    /// failure if nothing of a response has come.
    func noteHTTP3(hasFailed: Bool) {
        guard pool.usesHTTP3 else { return }
        let way = state.withLock { state in
            defer { state.way = .usual }
            return state.way
        }
        guard way != .usual else { return }
        let outcome: CurlHTTP3.Outcome =
            switch Int(ccurl_transfer_spoken_version(handle.transfer)) {
            case 0: hasFailed ? .failed : .unknown
            case CCURL_HTTP_VERSION_3: .spoken
            // It has fallen back to TCP, unless it had no need to try.
            default: ccurl_transfer_is_on_kept_connection(handle.transfer) ? .unknown : .failed
            }
        pool.http3.withLock { $0.end(way, outcome, of: origin, at: SystemTime.shared.now) }
    }

    /// Whether the exchange, which has ended without a response, shows that connections to its origin fail. A request
    /// that was refused on a connection that was kept, or with which that ended, does not: the next one tries again.
    var hasLostConnection: Bool {
        let reason = ccurl_transfer_failure(handle.transfer).reason
        // The connection was ready for the request.
        guard upload?.failure == nil, reason != CCURL_PERMIT_ENDED else { return false }
        guard ccurl_transfer_is_on_kept_connection(handle.transfer) else {
            return ccurl_transfer_has_opened(handle.transfer)
        }
        return reason != CCURL_REPEATED
    }

    /// Notes whether requests to its origin share connections, as the exchange shows that has ended.
    func noteSharing() {
        guard isEncrypted else { return }
        pool.note(ccurl_transfer_http_version(handle.transfer), of: origin, at: state.withLock { $0.place })
    }

    /// Passes what has come to the reader of a streamed response.
    func flush() {
        download?.buffer.flush()
    }

    /// Ends the exchange with libcurl's result, or with `nil` if it was stopped.
    func complete(_ result: ccurl_code?) {
        upload?.cancel()
        let last = state.withLock { state in
            state.result = result
            defer { (state.loop, state.place) = (nil, nil) }
            return state
        }
        let coded = last.coded
        if let place = last.place { pool.end(place, CurlChoice.Outcome(handle)) }
        // It has not begun, or nothing was found out.
        last.endLookup?(self)
        if download != nil || coded != nil {
            let ending = ending(result)
            download?.end(ending, of: handle)
            coded?.body.buffer.end(ending)
        }
        ready.open()
    }

    /// What the result means to the reader of a body. A failure of the request's own stream is the reason of others.
    private func ending(_ result: ccurl_code?) -> Result<Void, ServiceError> {
        switch result {
        case CCURLE_OK: .success(())
        case nil: .failure(CurlFailure(nil, of: handle).error)
        case let code?: .failure(upload?.failure ?? CurlFailure(code, of: handle).error)
        }
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
        hooks.on_coded_body = { context, bytes, count in
            guard let bytes, let exchange = CurlExchange.of(context) else { return Int(CCURL_ABORT) }
            let buffer = exchange.download?.buffer ?? exchange.coded?.body.buffer
            return buffer?.take(UnsafeRawBufferPointer(start: bytes, count: count)) ?? CCURL_ABORT
        }
        // Without this hook, the C side collects the body.
        if download != nil { hooks.on_body = hooks.on_coded_body }
        ccurl_set_hooks(handle.transfer, hooks)
    }

    private static func of(_ context: UnsafeMutableRawPointer?) -> CurlExchange? {
        context.map { Unmanaged<CurlExchange>.fromOpaque($0).takeUnretainedValue() }
    }

    private func note(_ step: ccurl_step) {
        switch step {
        case CCURL_SHARED: pool.noteStreams(of: origin)
        case CCURL_UNSHARED: pool.noteUnshared(origin)
        case CCURL_CONNECTED:
            context.noteFirstByte()
            context.note(.waitingForResponse)
        case CCURL_PROGRESS: context.noteProgress()
        case CCURL_HEAD_COMPLETE:
            context.note(.receiving)
            noteHead()
        default: break
        }
    }

    private func noteHead() {
        noteHTTP3(hasFailed: false)
        let mayBeCoded = ccurl_transfer_may_be_coded(handle.transfer)
        let hasAlternatives = pool.usesHTTP3 && ccurl_transfer_has_alternatives(handle.transfer)
        // In the usual case, the caller of a whole response reads the head later, in its own task.
        guard mayBeCoded || hasAlternatives || download != nil else { return }
        let head = CurlHead(ccurl_transfer_head(handle.transfer))
        if hasAlternatives, let head { noteAlternatives(head) }
        if mayBeCoded, let head, !head.headers.hasPlainBody { noteCoded(head) }
        download?.begin(handle, with: head)
    }

    private func noteAlternatives(_ head: CurlHead) {
        guard ccurl_transfer_request(handle.transfer).may_use_http3 else { return }
        guard let alternatives = CurlAlternatives(head.headers.values("Alt-Svc"), of: server) else { return }
        pool.http3.withLock { $0.note(alternatives, of: origin, at: SystemTime.shared.now) }
    }

    private func noteCoded(_ head: CurlHead) {
        ccurl_transfer_note_coded(handle.transfer)
        guard download == nil else { return }
        let length = head.headers["Content-Length"].flatMap { Int($0) } ?? 0
        let body = CodedBody(
            CurlBuffer(expecting: length, telling: ready), codings: head.headers.codings, limit: context.bodyLimit)
        state.withLock { $0.coded = (body, head) }
    }
}

extension CurlExchange: Hashable {
    static func == (one: CurlExchange, other: CurlExchange) -> Bool { one === other }

    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension CurlChoice.Outcome {
    fileprivate init(_ handle: CurlHandle) {
        let (isNew, leaves) = (
            ccurl_transfer_has_opened(handle.transfer), ccurl_transfer_leaves_connection(handle.transfer)
        )
        let isUsed = isNew || leaves || ccurl_transfer_is_on_kept_connection(handle.transfer)
        self = isUsed ? .used(isNew: isNew, leaves: leaves) : .unused
    }
}

extension CurlHTTP3.Way {
    fileprivate var number: ccurl_http3 {
        switch self {
        case .usual: CCURL_WITHOUT_HTTP3
        case .trial: CCURL_TRYING_HTTP3
        case .kept: CCURL_KEEPING_HTTP3
        case .preferred: CCURL_PREFERRING_HTTP3
        }
    }
}
#endif
