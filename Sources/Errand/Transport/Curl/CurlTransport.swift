#if os(Linux)
import CCurl
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A transport that uses the system's libcurl, opened at run time: the default on Linux.
///
/// One thread serves the requests of a transport, and more of them where there are many requests and cores: see
/// ``Options/loops``. Only a single small request on an open connection is sent by the task that makes it. Connections
/// are kept and used again; over TLS, requests share an HTTP/2 connection where the server offers it and, with
/// ``Options/http3``, one of HTTP/3. Responses are decompressed, up to the limit on the decompressed bytes.
/// Certificates are verified against the system's roots. The transport follows no redirects, reads no netrc, keeps no
/// cookies, and sends a request once for each permit: libcurl repeats nothing by itself. The threads and all
/// connections end with `shutdown()`, or when the transport is released.
public final class CurlTransport: Transport {
    private let options: Options
    private let files: CurlFiles
    private let opening: CurlOpening

    /// Creates a transport. Without libcurl, each send fails with `.transport(.unavailable)` and says what to install.
    /// If the process has no descriptor or no memory for a transport now, a later send tries again.
    public convenience init(_ options: Options = Options()) {
        self.init(options, idleTime: CurlLoops.idleTime)
    }

    /// Creates a transport whose threads, but for the first, end when they have had nothing to do for so long.
    init(_ options: Options, idleTime: Duration) {
        self.options = options
        files = CurlFiles(options)
        opening = CurlOpening(options, idleTime: idleTime)
    }

    /// It ends its waits itself, and uses permits: a request may wait for a connection.
    public var features: TransportFeatures { [.observesStops, .usesPermits] }

    /// A digest of the certificates, the pins, the proxy and the Unix socket of its options; `""` if they have none.
    public var identity: String? { options.identity }

    /// Runs tasks on the threads that have their connections; `nil` if libcurl cannot be opened. See
    /// ``APIClient/executor``. After `shutdown()`, it runs them like any task.
    public var executor: (any TaskExecutor)? { try? opening.loops() }

    /// The certificate of a server under development that it trusts.
    var developmentCertificate: DevelopmentCertificate? { options.developmentCertificate }

    /// The version of libcurl that is used; `nil` if there is none.
    public static var libraryVersion: String? {
        ccurl_open() ? String(cString: ccurl_version()) : nil
    }

    /// Sends the request, and returns the response when its body is complete or, as a stream, when its head is.
    ///
    /// A stream holds the connection until it has been read or dropped. While the stream is not read, the connection
    /// is not read either, unless other calls share it: then at most 64 MB of the stream wait in memory. Canceling ends
    /// the exchange at once; on a shared connection of HTTP/2 or HTTP/3, the server may learn of that only with the
    /// next exchange.
    public func send(_ request: HTTPRequest, context: TransportContext) async throws -> HTTPResponse {
        guard context.client == nil else { return try await exchange(request, context) }
        return try await boundedExchange(request, context)
    }

    // Not inlined: what a function builds for a moment would take memory for as long as the request waits.

    /// Sends a request of no client, and stops it at its timeout.
    @inline(never)
    private func boundedExchange(
        _ request: HTTPRequest, _ context: TransportContext
    ) async throws -> HTTPResponse {
        try await context.bounded { try await exchange(request, context) }
    }

    private func exchange(_ request: HTTPRequest, _ context: TransportContext) async throws -> HTTPResponse {
        if request.body?.isEmptyStream == true { return try await exchangeAfterBody(request, context) }
        let loops = try opening.loops()
        context.tell { loops.takeEvent() }
        let key = CurlQueues.Key(origin: request.url.origin.number, client: context.client)
        let handle = try await borrow(from: loops.pool, for: key, preferring: loops.preferred, context)
        return try await exchange(request, with: handle, of: key, on: loops, context)
    }

    @inline(never)
    private func exchange(
        _ request: HTTPRequest, with handle: CurlHandle, of key: CurlQueues.Key, on loops: CurlLoops,
        _ context: TransportContext
    ) async throws(ServiceError) -> HTTPResponse {
        try prepare(handle, for: request, of: key, in: loops.pool, context)
        // After all that may fail by itself: a request that is not sent uses no permit.
        if !context.usePermitAtOnce() { try await waitForPermit(holding: handle, of: key, in: loops.pool, context) }
        CurlRequest.setPermitEnd(of: handle.transfer, context)
        do throws(ServiceError) {
            switch context.delivery.kind {
            case .whole: return try await response(to: request, with: handle, of: key, on: loops, context)
            case .stream: return try await streamedResponse(to: request, with: handle, of: key, on: loops, context)
            }
        } catch {
            try files.require(after: error)
            throw error.naming(unixSocket: options.unixSocket)
        }
    }

    /// Sends the request with a handle that is prepared for it, and returns the response when it is complete.
    @inline(never)
    private func response(
        to request: HTTPRequest, with handle: CurlHandle, of key: CurlQueues.Key, on loops: CurlLoops,
        _ context: TransportContext
    ) async throws(ServiceError) -> HTTPResponse {
        let exchange = makeExchange(of: request, with: handle, on: loops, context)
        await run(exchange, on: loops, until: exchange.ready)
        guard let coded = exchange.coded else { return try response(of: exchange, from: key, on: loops) }
        return try await response(of: exchange, decoding: coded.body, after: coded.head, from: key, on: loops)
    }

    /// Sends the request with a handle that is prepared for it, and returns the response when its head is complete.
    @inline(never)
    private func streamedResponse(
        to request: HTTPRequest, with handle: CurlHandle, of key: CurlQueues.Key, on loops: CurlLoops,
        _ context: TransportContext
    ) async throws(ServiceError) -> HTTPResponse {
        let download = CurlDownload { [pool = loops.pool] in pool.giveBack($0, from: key) }
        let exchange = makeExchange(of: request, with: handle, on: loops, context, download)
        let reader = CurlReader(download, of: exchange, on: loops, keeping: self)
        await run(exchange, on: loops, until: download.head.latch)
        return try response(to: reader, of: exchange, download)
    }

    /// Makes the exchange of a request.
    @inline(never)
    private func makeExchange(
        of request: HTTPRequest, with handle: CurlHandle, on loops: CurlLoops, _ context: TransportContext,
        _ download: CurlDownload? = nil
    ) -> CurlExchange {
        let upload = request.body.flatMap { $0.bytes == nil ? CurlUpload($0) : nil }
        return CurlExchange(
            handle, to: request.url.origin, in: loops.pool, context: context, upload: upload, download: download)
    }

    /// Sends the request after its stream, which promises to be empty, has been read to its end: with its head, the
    /// request would be complete (D17).
    @inline(never)
    private func exchangeAfterBody(
        _ request: HTTPRequest, _ context: TransportContext
    ) async throws -> HTTPResponse {
        guard let body = request.body else { return try await exchange(request, context) }
        do {
            let tooLong = ServiceError.wrongLength(of: body)
            _ = try await context.scope.result { try await body.collect(upTo: 0, otherwise: tooLong) }.get()
        } catch {
            var error = ServiceError(error) { .streamFailed(foreignName(of: $0)) }
            if case .transport(var failure) = error {
                failure.call.mayHaveReachedServer = false
                error = .transport(failure)
            }
            throw error
        }
        context.noteWait()
        var request = request
        request.body = .empty
        return try await exchange(request, context)
    }

    @inline(never)
    private func prepare(
        _ handle: CurlHandle, for request: HTTPRequest, of key: CurlQueues.Key, in pool: CurlPool,
        _ context: TransportContext
    ) throws(ServiceError) {
        do throws(ServiceError) {
            try files.require()
            let developmentKey = try files.developmentKey(for: request.url.origin.host)
            try CurlRequest(request, to: key.origin, options: options, trusting: developmentKey)
                .prepare(handle.transfer, context: context)
        } catch {
            pool.giveBack(handle, from: key)
            throw error
        }
    }

    /// Returns the whole response of an exchange that has completed, and gives its handle back.
    @inline(never)
    private func response(
        of exchange: CurlExchange, from key: CurlQueues.Key, on loops: CurlLoops
    ) throws(ServiceError) -> HTTPResponse {
        let handle = exchange.handle
        defer { loops.pool.giveBack(handle, from: key) }
        // The lock of the exchange hands the C side back from the loop's thread to this one.
        guard let result = exchange.result else {
            throw exchange.context.scope.isStopped ? .cancelled : CurlFailure(nil, of: handle).error
        }
        guard result == CCURLE_OK else {
            throw exchange.upload?.failure ?? CurlFailure(result, of: handle).error
        }
        return try CurlAnswer(handle).response()
    }

    /// Returns the whole response of an exchange whose body has begun to come, and gives its handle back.
    @inline(never)
    private func response(
        of exchange: CurlExchange, decoding coded: CodedBody, after head: CurlHead, from key: CurlQueues.Key,
        on loops: CurlLoops
    ) async throws(ServiceError) -> HTTPResponse {
        let (handle, scope) = (exchange.handle, exchange.context.scope)
        let body = await scope.wait { () -> Result<Data, ServiceError> in
            do throws(ServiceError) {
                return .success(try await coded.collect(in: scope) { loops.resume(exchange) })
            } catch {
                // The transfer may still run. It has to end before the handle is given back.
                loops.cancel(exchange)
                await coded.buffer.ended()
                return .failure(error)
            }
        } onStop: {
            loops.cancel(exchange, isOutOfTime: scope.isOutOfTime)
        }
        defer { loops.pool.giveBack(handle, from: key) }
        if case .failure = body, scope.isStopped { throw .cancelled }
        return try CurlAnswer(handle, head).response(with: .bytes(body.get()))
    }

    /// Returns the streamed response of an exchange whose head has completed.
    @inline(never)
    private func response(
        to reader: CurlReader, of exchange: CurlExchange, _ download: CurlDownload
    ) throws(ServiceError) -> HTTPResponse {
        guard !exchange.context.scope.isStopped, var response = try download.head.outcome?.get() else {
            throw ServiceError.cancelled
        }
        let codings = response.headers.codings
        let coded =
            codings.isEmpty ? nil : CodedBody(download.buffer, codings: codings, limit: exchange.context.bodyLimit)
        response.body = .stream(
            length: response.headers.bodyLength, HTTPBody.Chunks { try await reader.next(of: coded) })
        return response
    }

    /// Waits for the turn of a request in that queue.
    @inline(never)
    private func borrow(
        from pool: CurlPool, for key: CurlQueues.Key, preferring loop: Int?, _ context: TransportContext
    ) async throws(ServiceError) -> CurlHandle {
        if let free = try pool.borrowAtOnce(for: key, preferring: loop) { return free }
        let waiter = pool.join(key)
        // Noted by one that is in the queue already, so that the notes have the order of the queue.
        context.note(.waitingForConnection)
        return try await pool.borrow(as: waiter, for: key, in: context.scope)
    }

    @inline(never)
    private func waitForPermit(
        holding handle: CurlHandle, of key: CurlQueues.Key, in pool: CurlPool, _ context: TransportContext
    ) async throws(ServiceError) {
        do throws(ServiceError) {
            try await context.takePermit()
        } catch {
            pool.giveBack(handle, from: key)
            throw error
        }
    }

    /// Ends all connections and all threads.
    public func shutdown() async {
        guard let loops = opening.end() else { return }
        loops.close()
        await loops.closed()
    }

    /// Ends all sends of a client, and waits until they have ended.
    public func endSends(of client: TransportContext.Client) async {
        await opening.existing?.endAll(of: client)
    }

    /// Whether no exchange is active, and none waits for its turn.
    var isIdle: Bool { (opening.existing?.pool.active ?? 0) == 0 }

    /// The number of active exchanges of each loop that is open.
    var activeByLoop: [Int] { opening.existing?.pool.activeByLoop ?? [] }

    /// The number of requests that wait for their turn.
    var waiting: Int { opening.existing?.pool.waiting ?? 0 }

    @inline(never)
    private func start(_ exchange: CurlExchange, on loops: CurlLoops) {
        // Some versions of libcurl do not say when they connect.
        exchange.context.note(ccurl_tells_connected() ? .connecting : .waitingForResponse)
        // What was stopped before sends nothing: the exchange remembers that it was canceled.
        loops.start(exchange)
        exchange.upload?.start(in: exchange.context) { loops.resume(exchange) }
    }

    /// Starts the exchange, and waits until `promise` has completed.
    @inline(never)
    private func run(_ exchange: CurlExchange, on loops: CurlLoops, until latch: Latch) async {
        let scope = exchange.context.scope
        await scope.wait {
            start(exchange, on: loops)
            await latch.opened()
        } onStop: {
            loops.cancel(exchange, isOutOfTime: scope.isOutOfTime)
        }
    }

    deinit {
        opening.end()?.close()
    }
}

extension HTTPBody {
    /// Whether it is a stream that promises to be empty.
    fileprivate var isEmptyStream: Bool { bytes == nil && length == 0 }
}
#endif
