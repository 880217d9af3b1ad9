#if os(Linux)
import CCurl
#if canImport(Glibc)
import Glibc
#else
import Musl
#endif

/// The thread on which libcurl works, woken when there is something new to do.
///
/// It lives until `close`; the transport closes it when it goes.
final class CurlLoop: Sendable {
    /// The C side. Only the worker uses it, but for the calls that wait, wake and watch.
    struct Core: @unchecked Sendable {
        let loop: OpaquePointer
    }

    /// How many handles are kept for the next requests. Each is a few kilobytes.
    private static let mostIdle = 64
    /// How often to check that the thread comes back to its jobs.
    private static let watchInterval = Duration.milliseconds(60)

    let core: Core
    /// What is known about HTTP/3, and whether that is used. Only the thread of the loop reads and changes it; behind a
    /// lock, because libcurl calls back while that thread works.
    let http3: Lock<CurlHTTP3>
    let usesHTTP3: Bool
    private let inbox: Lock<CurlInbox>
    /// What works on the exchanges, while there is a thread. The thread has it but for its waits, in which a caller can
    /// have it for the time of one send.
    private let worker = Lock<CurlWorker?>(nil)
    /// Whether the C side is freed: then there is nothing to wake.
    private let isGone = Lock(false)

    /// Creates a loop; `nil` if there is no memory for one, or no descriptor left.
    init?(_ queues: CurlQueues, _ http3: CurlHTTP3? = nil) {
        guard let loop = ccurl_loop_new() else { return nil }
        usesHTTP3 = http3 != nil && ccurl_speaks_http3()
        self.http3 = Lock(http3 ?? CurlHTTP3())
        inbox = Lock(CurlInbox(queues))
        core = Core(loop: loop)
        // Streams of HTTP/2 and HTTP/3 share a connection.
        ccurl_loop_set_long(loop, CCURLMOPT_PIPELINING, CCURLPIPE_MULTIPLEX)
    }

    // MARK: Handles

    /// Returns a handle to prepare a request with, if it is its turn in that queue; otherwise `nil`.
    func borrowAtOnce(for key: CurlQueues.Key) throws(ServiceError) -> CurlExchange.Handle? {
        let (isAdmitted, idle) = inbox.withLock { $0.borrow(for: key) }
        guard isAdmitted else { return nil }
        if let idle { return idle }
        return try newHandle(for: key)
    }

    /// Joins that queue; `nil` if it is the request's turn already.
    func join(_ key: CurlQueues.Key) -> CurlQueues.Waiter? {
        inbox.withLock { $0.queues.join(key) }
    }

    /// Waits for the turn of a request that has joined the queue. Throws `.cancelled` when its scope is stopped.
    func borrow(
        as waiter: CurlQueues.Waiter?, for key: CurlQueues.Key, in scope: CallScope
    ) async throws(ServiceError) -> CurlExchange.Handle {
        if let waiter { try await turn(of: waiter, in: scope) }
        if let idle = inbox.withLock({ $0.borrow() }) { return idle }
        return try newHandle(for: key)
    }

    /// Takes a handle back whose transfer has ended, or was never started. It was the turn of a request in that queue;
    /// now it is the next one's.
    func giveBack(_ handle: CurlExchange.Handle, from key: CurlQueues.Key) {
        let version = ccurl_transfer_http_version(handle.transfer)
        let isUsable = ccurl_transfer_reset(handle.transfer)
        let (isKept, next) = inbox.withLock { inbox in
            (
                isUsable && inbox.keep(handle, atMost: Self.mostIdle),
                inbox.queues.end(key, hasStreams: version == 0 ? nil : version >= CCURL_HTTP_VERSION_2_0)
            )
        }
        if !isKept { ccurl_transfer_free(handle.transfer) }
        admit(next)
    }

    private func newHandle(for key: CurlQueues.Key) throws(ServiceError) -> CurlExchange.Handle {
        // The new handle gets a share of what the C side has.
        let (handle, isGone) = isGone.withLock { isGone in
            (isGone ? nil : ccurl_transfer_new(core.loop).map { CurlExchange.Handle(transfer: $0) }, isGone)
        }
        if let handle { return handle }
        admit(inbox.withLock { $0.queues.end(key) })
        throw isGone ? .transportShutDown(mayHaveReachedServer: false) : .curlHasNoMemory
    }

    // MARK: Turns

    private func turn(of waiter: CurlQueues.Waiter, in scope: CallScope) async throws(ServiceError) {
        // Everything that ends the wait completes the promise, so its outcome alone says whose turn it is.
        await scope.wait {
            await waiter.turn.completion()
        } onStop: {
            waiter.turn.complete(.failure(.cancelled))
        }
        do throws(ServiceError) {
            try (waiter.turn.outcome ?? .failure(.cancelled)).get()
        } catch {
            inbox.withLock { $0.queues.leave(waiter) }
            throw error
        }
    }

    /// For the thread: more requests to that origin make sense at once, because they share a connection.
    func noteStreams(of origin: UInt64) {
        admit(inbox.withLock { $0.queues.noteStreams(of: origin) })
    }

    /// Lets those continue whose turn it is. The turn of one that has been stopped goes to the next.
    private func admit(_ waiters: [CurlQueues.Waiter]) {
        var waiters = waiters[...]
        while let waiter = waiters.popFirst() {
            guard waiter.turn.complete(.success(())) == nil else { continue }
            waiters += inbox.withLock { $0.queues.end(waiter.key) }
        }
    }

    /// Whether no exchange is active, and none waits for its turn.
    var isIdle: Bool { inbox.withLock { $0.queues.active == 0 } }

    /// The number of requests that wait for their turn.
    var waiting: Int { inbox.withLock { $0.queues.waiting } }

    // MARK: Jobs

    /// Starts the exchange; returns `false` if the loop is closed.
    func start(_ exchange: CurlExchange) -> Bool {
        if send(exchange) { return true }
        guard let notice = inbox.withLock({ $0.start(exchange) }) else { return false }
        act(on: notice)
        return true
    }

    /// Starts the exchange on the thread of its caller, if that only has to send the request: to hand a single request
    /// to the other thread takes longer than to send it. With more of them that thread is awake anyway.
    private func send(_ exchange: CurlExchange) -> Bool {
        guard isQuiet else { return false }
        return worker.withLockIfAvailable { $0?.send(exchange) ?? false } ?? false
    }

    /// Resumes an exchange that has paused. Does nothing if it has ended.
    func resume(_ exchange: CurlExchange) {
        act(on: inbox.withLock { $0.add(.resume(exchange)) })
    }

    /// Ends the exchange, which completes with `nil`; one that is yet to be started does not begin. If its time is up,
    /// the connection on which it has waited takes no more requests.
    func cancel(_ exchange: CurlExchange, isOutOfTime: Bool = false) {
        // Before the job is added: either the thread sees this when it starts the exchange, or it has started it when
        // the job comes.
        exchange.noteCancellation()
        act(on: inbox.withLock { $0.add(.cancel(exchange, isOutOfTime: isOutOfTime)) })
    }

    /// Ends all exchanges of a client, and waits until they have ended.
    func endAll(of client: ObjectIdentifier) async {
        let promise = Promise<Void, ServiceError>()
        guard let notice = inbox.withLock({ $0.endAll(of: client, then: promise) }) else { return }
        act(on: notice)
        await promise.completion()
    }

    private func act(on notice: CurlInbox.Notice) {
        switch notice {
        case .none: break
        case .wake: wake()
        case .watch: watch()
        case .launch: launch()
        }
    }

    func wake() {
        isGone.withLock { isGone in
            if !isGone { ccurl_loop_wake(core.loop) }
        }
    }

    /// Checks, until it has, that the thread comes back to its jobs: a server can keep it busy on one connection, which
    /// is shut down then.
    private func watch() {
        let time = SystemTime.shared
        _ = time.schedule(at: time.now.advanced(by: Self.watchInterval), for: .watch) { [weak self] in
            guard let self else { return }
            let isWorking = isGone.withLock { !$0 && ccurl_loop_watch(core.loop) }
            if inbox.withLock({ $0.goesOnWatching(isWorking) }) { watch() }
        }
    }

    // MARK: The thread

    private func launch() {
        var thread = pthread_t()
        let context = Unmanaged.passRetained(self).toOpaque()
        let result = pthread_create(
            &thread, nil,
            { context in
                guard let context else { return nil }
                Unmanaged<CurlLoop>.fromOpaque(context).takeRetainedValue().run()
                return nil
            }, context)
        guard result == 0 else {
            Unmanaged<CurlLoop>.fromOpaque(context).release()
            return end(.absent)
        }
        pthread_detach(thread)
    }

    private func run() {
        CurlWorker.prepareThread()
        worker.withLock { $0 = CurlWorker(of: self) }
        while let wait = turn() { ccurl_loop_wait(core.loop, wait) }
        let rest = worker.withLock { worker in
            defer { worker = nil }
            return worker
        }
        guard var rest, ccurl_loop_is_busy(core.loop) else {
            free()
            return end(.absent)
        }
        end(.lingering)
        rest.linger()
        free()
    }

    /// Does what there is to do. Returns for how many milliseconds the thread may wait then; `nil` if it has to end.
    private func turn() -> CInt? {
        if let wait = worker.withLockIfAvailable({ $0?.turn() }) { return wait }
        // A server can keep a caller's thread busy just like this one.
        if inbox.withLock({ $0.beginWatching() }) { watch() }
        return worker.withLock { $0?.turn() }
    }

    /// For the thread: whether there is nothing to do but to wait. From then on, a job wakes it.
    func mayWait() -> Bool {
        inbox.withLock { $0.mayWait() }
    }

    /// Whether the thread waits, and no exchange is active but that of the caller.
    var isQuiet: Bool { inbox.withLock { $0.isQuiet } }

    /// For the thread: exchanges an empty list for what there is to do. Returns whether the loop is closed.
    func takeJobs(for empty: inout [CurlInbox.Job]) -> Bool {
        inbox.withLock { $0.takeJobs(for: &empty) }
    }

    /// Completes what waits for the thread, which has ended all exchanges or could not begin.
    private func end(_ thread: CurlInbox.Thread) {
        let (jobs, ended) = inbox.withLock { $0.end(thread) }
        for job in jobs {
            switch job {
            case .start(let exchange): exchange.complete(CCURLE_OUT_OF_MEMORY)
            case .endAll(_, let promise): promise.complete(.success(()))
            case .resume, .cancel: break
            }
        }
        for promise in ended { promise.complete(.success(())) }
    }

    // MARK: The end

    /// Ends all exchanges, and the thread.
    func close() {
        let (idle, waiters, thread) = inbox.withLock { $0.close() }
        for handle in idle { ccurl_transfer_free(handle.transfer) }
        for waiter in waiters { waiter.turn.complete(.failure(.transportShutDown(mayHaveReachedServer: false))) }
        switch thread {
        case .running: wake()
        // It frees the C side itself when it ends.
        case .lingering: break
        case .absent: free()
        }
    }

    /// Waits until the thread has ended.
    func closed() async {
        let promise = Promise<Void, ServiceError>()
        if inbox.withLock({ $0.awaitEnd(promise) }) { await promise.completion() }
    }

    private func free() {
        isGone.withLock { isGone in
            if !isGone { ccurl_loop_free(core.loop) }
            isGone = true
        }
    }

    deinit {
        free()
    }
}
#endif
