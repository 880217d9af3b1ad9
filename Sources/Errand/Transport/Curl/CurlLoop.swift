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
    private typealias Exchanges = [UnsafeMutablePointer<ccurl_transfer>: CurlExchange]

    private enum Job {
        case start(CurlExchange)
        case resume(CurlExchange)
        case cancel(CurlExchange)
    }

    private struct Inbox {
        var jobs: [Job] = []
        var isClosed = false
        var isRunning = false
        /// Whether the thread waits for sockets, and has to be woken for a job.
        var isWaiting = false
        var idle: [CurlExchange.Handle] = []
        var ended: [Flight<Void>] = []
    }

    /// The C side. Only the thread of the loop uses it, but for the call that wakes it.
    private struct Core: @unchecked Sendable {
        let loop: OpaquePointer
    }

    /// How many easy handles are kept for the next requests. Each is a few kilobytes.
    private static let mostIdle = 64
    /// How many connections without a transfer are kept, or as many as there were ever transfers at once. By itself libcurl
    /// keeps four times as many as there are at the moment: between two waves of calls, none.
    private static let fewestConnections = 64
    /// libcurl's own result for it.
    private static let outOfMemory: CInt = 27

    private let inbox = Lock(Inbox())
    private let core: Core
    /// Whether the C side is gone: then there is nothing to wake.
    private let isGone = Lock(false)

    /// Makes a loop; `nil` if there is no memory for one, or no descriptor left.
    init?() {
        guard let loop = ccurl_loop_new() else { return nil }
        core = Core(loop: loop)
        // HTTP/2 streams share a connection.
        ccurl_loop_set_long(loop, CurlMultiOption.pipelining, 2)
        ccurl_loop_set_long(loop, CurlMultiOption.keptConnections, Self.fewestConnections)
    }

    /// A handle to prepare a request with.
    func borrow() -> CurlExchange.Handle? {
        if let idle = inbox.withLock({ $0.idle.popLast() }) { return idle }
        return ccurl_transfer_new(core.loop).map(CurlExchange.Handle.init)
    }

    /// Takes a handle back whose transfer has ended.
    func giveBack(_ handle: CurlExchange.Handle) {
        ccurl_transfer_reset(handle.transfer)
        let isKept = inbox.withLock { inbox in
            guard !inbox.isClosed, inbox.idle.count < Self.mostIdle else { return false }
            inbox.idle.append(handle)
            return true
        }
        if !isKept { ccurl_transfer_free(handle.transfer) }
    }

    /// Has the exchange begun; `false` if the loop is closed.
    func start(_ exchange: CurlExchange) -> Bool {
        let (isOpen, mustRun, mustWake) = inbox.withLock { inbox in
            guard !inbox.isClosed else { return (false, false, false) }
            inbox.jobs.append(.start(exchange))
            defer {
                inbox.isRunning = true
                inbox.isWaiting = false
            }
            return (true, !inbox.isRunning, inbox.isWaiting)
        }
        if mustRun { launch() } else if mustWake { wake() }
        return isOpen
    }

    /// Has the exchange go on that has paused. Does nothing if it has ended.
    func resume(_ exchange: CurlExchange) {
        add(.resume(exchange))
    }

    /// Has the exchange ended; it lands with `nil`.
    func cancel(_ exchange: CurlExchange) {
        add(.cancel(exchange))
    }

    /// Ends all exchanges, and the thread.
    func close() {
        let (idle, isRunning) = inbox.withLock { inbox in
            inbox.isClosed = true
            defer { inbox.idle = [] }
            return (inbox.idle, inbox.isRunning)
        }
        for handle in idle { ccurl_transfer_free(handle.transfer) }
        // The thread frees the rest when it ends, and one that does not run never will.
        if isRunning { wake() } else { free() }
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
        let mustWake = inbox.withLock { inbox in
            guard inbox.isRunning else { return false }
            inbox.jobs.append(job)
            defer { inbox.isWaiting = false }
            return inbox.isWaiting
        }
        if mustWake { wake() }
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
            for case .start(let exchange) in jobs { exchange.land(Self.outOfMemory) }
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
        ccurl_name_thread("errand.curl")
        var running: Exchanges = [:]
        // Those of them that have to be looked at after each turn.
        var streamed: Exchanges = [:]
        var mostRunning = Self.fewestConnections
        while true {
            ccurl_loop_wait(core.loop, mayWait() ? 1 : 0)
            let (jobs, isClosed) = takeJobs()
            for job in jobs {
                switch job {
                case .start(let exchange):
                    guard ccurl_loop_add(core.loop, exchange.handle.transfer) == 0 else {
                        exchange.land(Self.outOfMemory)
                        continue
                    }
                    running[exchange.handle.transfer] = exchange
                    if exchange.isStreamed { streamed[exchange.handle.transfer] = exchange }
                case .resume(let exchange) where running[exchange.handle.transfer] === exchange:
                    let result = ccurl_loop_resume(core.loop, exchange.handle.transfer)
                    guard result != 0 else { continue }
                    streamed[exchange.handle.transfer] = nil
                    stop(exchange, among: &running, with: result)
                case .cancel(let exchange) where running[exchange.handle.transfer] === exchange:
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
                ccurl_loop_set_long(core.loop, CurlMultiOption.keptConnections, mostRunning)
            }
            ccurl_loop_work(core.loop)
            for exchange in streamed.values { exchange.flush() }
            var result: CInt = 0
            while let transfer = ccurl_loop_next_ended(core.loop, &result) {
                streamed[transfer] = nil
                running.removeValue(forKey: transfer)?.land(result)
            }
        }
        free()
        let ended = inbox.withLock { inbox in
            inbox.isRunning = false
            return inbox.ended
        }
        for flight in ended { flight.land(.success(())) }
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

    private func stop(_ exchange: CurlExchange, among running: inout Exchanges, with result: CInt? = nil) {
        running[exchange.handle.transfer] = nil
        ccurl_loop_remove(core.loop, exchange.handle.transfer)
        exchange.land(result)
    }

    deinit {
        free()
    }
}
#endif
