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
    private typealias Exchanges = [OpaquePointer: CurlExchange]

    private enum Job {
        case start(CurlExchange)
        case resume(CurlExchange)
        case cancel(CurlExchange, isOutOfTime: Bool)
    }

    private struct Inbox {
        var jobs: [Job] = []
        var isClosed = false
        var isRunning = false
        /// Whether the thread has ended all exchanges, and waits for lookups before it frees the C side.
        var isLingering = false
        /// Whether the thread waits for sockets, and has to be woken for a job.
        var isWaiting = false
        var idle: [CurlExchange.Handle] = []
        var ended: [Flight<Void>] = []
        /// Whether somebody looks whether the thread comes back to its jobs.
        var isWatched = false

        /// What has to be done that the thread sees a new job.
        mutating func call() -> Call {
            defer { isWaiting = false }
            if isWaiting { return .wake }
            if isWatched { return .none }
            isWatched = true
            return .watch
        }
    }

    /// What somebody who has put a job into the inbox has to do.
    private enum Call {
        case none, wake, watch
    }

    /// The C side. Only the thread of the loop uses it, but for the call that wakes it.
    private struct Core: @unchecked Sendable {
        let loop: OpaquePointer
    }

    /// How many easy handles are kept for the next requests. Each is a few kilobytes.
    private static let mostIdle = 64
    /// How many connections without a transfer are kept, or as many as there were ever transfers at once. By itself
    /// libcurl keeps four times as many as there are at the moment: between two waves of calls, none.
    private static let fewestConnections = 64
    /// How often to look whether the thread comes back.
    private static let watchInterval = Duration.milliseconds(100)

    private let inbox = Lock(Inbox())
    private let core: Core
    /// Whether the C side is gone: then there is nothing to wake.
    private let isGone = Lock(false)

    /// Makes a loop; `nil` if there is no memory for one, or no descriptor left.
    init?() {
        guard let loop = ccurl_loop_new() else { return nil }
        core = Core(loop: loop)
        // HTTP/2 streams share a connection.
        ccurl_loop_set_long(loop, CCURLMOPT_PIPELINING, CCURLPIPE_MULTIPLEX)
        ccurl_loop_set_long(loop, CCURLMOPT_MAXCONNECTS, Self.fewestConnections)
    }

    /// A handle to prepare a request with.
    func borrow() -> CurlExchange.Handle? {
        if let idle = inbox.withLock({ $0.idle.popLast() }) { return idle }
        return ccurl_transfer_new(core.loop).map(CurlExchange.Handle.init)
    }

    /// Takes a handle back whose transfer has ended.
    func giveBack(_ handle: CurlExchange.Handle) {
        let isUsable = ccurl_transfer_reset(handle.transfer)
        let isKept = inbox.withLock { inbox in
            guard isUsable, !inbox.isClosed, inbox.idle.count < Self.mostIdle else { return false }
            inbox.idle.append(handle)
            return true
        }
        if !isKept { ccurl_transfer_free(handle.transfer) }
    }

    /// Has the exchange begun; `false` if the loop is closed.
    func start(_ exchange: CurlExchange) -> Bool {
        let (isOpen, mustRun, call) = inbox.withLock { inbox in
            guard !inbox.isClosed else { return (false, false, Call.none) }
            inbox.jobs.append(.start(exchange))
            defer { inbox.isRunning = true }
            return inbox.isRunning ? (true, false, inbox.call()) : (true, true, .none)
        }
        if mustRun { launch() } else { answer(call) }
        return isOpen
    }

    /// Has the exchange go on that has paused. Does nothing if it has ended.
    func resume(_ exchange: CurlExchange) {
        add(.resume(exchange))
    }

    /// Has the exchange ended; it lands with `nil`. A connection on which it has waited until its time was up is given
    /// to no other.
    func cancel(_ exchange: CurlExchange, isOutOfTime: Bool = false) {
        add(.cancel(exchange, isOutOfTime: isOutOfTime))
    }

    /// Ends all exchanges, and the thread.
    func close() {
        let (idle, isRunning, isLingering) = inbox.withLock { inbox in
            inbox.isClosed = true
            defer { inbox.idle = [] }
            return (inbox.idle, inbox.isRunning, inbox.isLingering)
        }
        for handle in idle { ccurl_transfer_free(handle.transfer) }
        // The thread frees the rest when it ends, and one that does not run never will.
        if isRunning { wake() } else if !isLingering { free() }
    }

    /// Waits until the thread has ended.
    func closed() async {
        let flight = Flight<Void>()
        let isRunning = inbox.withLock { inbox in
            if inbox.isRunning { inbox.ended.append(flight) }
            return inbox.isRunning
        }
        if isRunning { await flight.landed() }
    }

    private func add(_ job: Job) {
        let call = inbox.withLock { inbox in
            guard inbox.isRunning else { return Call.none }
            inbox.jobs.append(job)
            return inbox.call()
        }
        answer(call)
    }

    private func answer(_ call: Call) {
        switch call {
        case .none: break
        case .wake: wake()
        case .watch: watch()
        }
    }

    /// Looks, until it has, whether the thread comes back to its jobs: a server can keep it busy on one connection,
    /// which is then ended.
    private func watch() {
        let time = SystemTime.shared
        _ = time.schedule(at: time.now.advanced(by: Self.watchInterval), for: .watch) { [weak self] in
            guard let self else { return }
            let isWorking = isGone.withLock { !$0 && ccurl_loop_watch(core.loop) }
            let goesOn = inbox.withLock { inbox in
                inbox.isWatched = inbox.isRunning && (isWorking || !inbox.jobs.isEmpty)
                return inbox.isWatched
            }
            if goesOn { watch() }
        }
    }

    private func wake() {
        isGone.withLock { isGone in
            if !isGone { ccurl_loop_wake(core.loop) }
        }
    }

    private func launch() {
        var thread = pthread_t()
        let context = Unmanaged.passRetained(self).toOpaque()
        let result = pthread_create(
            &thread, nil,
            { context in
                guard let context else { return nil }
                Unmanaged<CurlLoop>.fromOpaque(context).takeRetainedValue().work()
                return nil
            }, context)
        guard result == 0 else {
            Unmanaged<CurlLoop>.fromOpaque(context).release()
            let (jobs, waiting) = inbox.withLock { inbox in
                inbox.isRunning = false
                defer { (inbox.jobs, inbox.ended) = ([], []) }
                return (inbox.jobs, inbox.ended)
            }
            for case .start(let exchange) in jobs { exchange.land(CCURLE_OUT_OF_MEMORY) }
            for flight in waiting { flight.land(.success(())) }
            return
        }
        pthread_detach(thread)
    }

    /// A broken connection is an error that libcurl reports. As a signal, which TLS libraries let through, it would end
    /// the process; and no handler of the program's own should run on this thread either.
    private func blockSignals() {
        var all = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_BLOCK, &all, nil)
    }

    private func work() {
        blockSignals()
        // For whoever looks at the threads of a program.
        ccurl_loop_enter(core.loop, "errand.curl")
        var running: Exchanges = [:]
        // Those of them that have to be looked at after each turn.
        var streamed: Exchanges = [:]
        var mostRunning = Self.fewestConnections
        while true {
            ccurl_loop_wait(core.loop, mayWait())
            let (jobs, isClosed) = takeJobs()
            for job in jobs {
                switch job {
                case .start(let exchange):
                    guard ccurl_loop_add(core.loop, exchange.handle.transfer) else {
                        exchange.land(CCURLE_OUT_OF_MEMORY)
                        continue
                    }
                    running[exchange.handle.transfer] = exchange
                    if exchange.isStreamed { streamed[exchange.handle.transfer] = exchange }
                case .resume(let exchange) where running[exchange.handle.transfer] === exchange:
                    let result = ccurl_loop_resume(core.loop, exchange.handle.transfer)
                    guard result != CCURLE_OK else { continue }
                    streamed[exchange.handle.transfer] = nil
                    stop(exchange, among: &running, with: result)
                case .cancel(let exchange, let isOutOfTime) where running[exchange.handle.transfer] === exchange:
                    if isOutOfTime { ccurl_loop_distrust(core.loop, exchange.handle.transfer) }
                    streamed[exchange.handle.transfer] = nil
                    stop(exchange, among: &running)
                // It has ended since.
                case .resume, .cancel: break
                }
            }
            if isClosed {
                for exchange in running.values { stop(exchange, among: &running) }
                break
            }
            if running.count > mostRunning {
                mostRunning = running.count
                ccurl_loop_set_long(core.loop, CCURLMOPT_MAXCONNECTS, mostRunning)
            }
            ccurl_loop_work(core.loop)
            for exchange in streamed.values { exchange.flush() }
            var result = CCURLE_OK
            while let transfer = ccurl_loop_next_ended(core.loop, &result) {
                streamed[transfer] = nil
                running.removeValue(forKey: transfer)?.land(result)
            }
        }
        let isBusy = ccurl_loop_is_busy(core.loop)
        if !isBusy { free() }
        let ended = inbox.withLock { inbox in
            (inbox.isRunning, inbox.isLingering) = (false, isBusy)
            return inbox.ended
        }
        for flight in ended { flight.land(.success(())) }
        if isBusy { linger() }
    }

    /// Goes on until the lookups have ended that an older libcurl cannot break off. Nobody waits for that.
    private func linger() {
        var result = CCURLE_OK
        while ccurl_loop_is_busy(core.loop) {
            ccurl_loop_wait(core.loop, true)
            ccurl_loop_work(core.loop)
            while ccurl_loop_next_ended(core.loop, &result) != nil {}
        }
        free()
    }

    /// Whether there is nothing to do but to wait; from then on, a job wakes the thread.
    private func mayWait() -> Bool {
        inbox.withLock { inbox in
            inbox.isWaiting = inbox.jobs.isEmpty && !inbox.isClosed
            return inbox.isWaiting
        }
    }

    private func takeJobs() -> (jobs: [Job], isClosed: Bool) {
        inbox.withLock { inbox in
            inbox.isWaiting = false
            defer { inbox.jobs = [] }
            return (inbox.jobs, inbox.isClosed)
        }
    }

    private func free() {
        isGone.withLock { isGone in
            if !isGone { ccurl_loop_free(core.loop) }
            isGone = true
        }
    }

    private func stop(_ exchange: CurlExchange, among running: inout Exchanges, with result: ccurl_code? = nil) {
        running[exchange.handle.transfer] = nil
        ccurl_loop_remove(core.loop, exchange.handle.transfer)
        exchange.land(result)
    }

    deinit {
        free()
    }
}
#endif
