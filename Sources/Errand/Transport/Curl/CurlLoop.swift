#if os(Linux)
import CCurl
#if canImport(Glibc)
import Glibc
#else
import Musl
#endif

/// The thread on which libcurl works: one multi handle, woken when there is something new to do.
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
        /// Whether the multi handle is gone: then there is nothing to wake.
        var isGone = false
        var idle: [CurlExchange.Handle] = []
        var ended: [Flight<Void>] = []
    }

    /// The multi handle. Only the thread of the loop uses it, but for `wakeup`, which libcurl lets every thread call.
    private struct Multi: @unchecked Sendable {
        let pointer: UnsafeMutableRawPointer
    }

    /// How many easy handles are kept for the next requests. Each is a few kilobytes.
    private static let mostIdle = 64
    /// libcurl's own result for it.
    private static let outOfMemory: CInt = 27

    private let inbox = Lock(Inbox())
    private let multi: Multi

    /// Makes a loop; `nil` if libcurl has no memory for one.
    init?() {
        guard let pointer = ccurl_multi_new() else { return nil }
        multi = Multi(pointer: pointer)
        // HTTP/2 streams share a connection.
        ccurl_multi_set_long(pointer, CurlMultiOption.pipelining, 2)
    }

    /// A handle to prepare a request with.
    func borrow() -> CurlExchange.Handle? {
        if let idle = inbox.withLock({ $0.idle.popLast() }) { return idle }
        return ccurl_transfer_new().map(CurlExchange.Handle.init)
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
            let wasEmpty = inbox.jobs.isEmpty
            inbox.jobs.append(.start(exchange))
            defer { inbox.isRunning = true }
            return (true, !inbox.isRunning, wasEmpty)
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
        let idle = inbox.withLock { inbox in
            inbox.isClosed = true
            defer { inbox.idle = [] }
            return inbox.idle
        }
        for handle in idle { ccurl_transfer_free(handle.transfer) }
        wake()
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
            defer { inbox.jobs.append(job) }
            return inbox.jobs.isEmpty
        }
        if mustWake { wake() }
    }

    private func wake() {
        inbox.withLock { inbox in
            if !inbox.isGone { ccurl_multi_wakeup(multi.pointer) }
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
            let jobs = inbox.withLock { inbox in
                inbox.isRunning = false
                defer { inbox.jobs = [] }
                return inbox.jobs
            }
            for case .start(let exchange) in jobs { exchange.land(Self.outOfMemory) }
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
        var streamed: Exchanges = [:]
        while true {
            let (jobs, isClosed) = inbox.withLock { inbox in
                defer { inbox.jobs = [] }
                return (inbox.jobs, inbox.isClosed)
            }
            for job in jobs {
                switch job {
                case .start(let exchange):
                    running[exchange.handle.transfer] = exchange
                    if exchange.isStreamed { streamed[exchange.handle.transfer] = exchange }
                    ccurl_multi_add(multi.pointer, exchange.handle.transfer)
                case .resume(let exchange) where running[exchange.handle.transfer] === exchange:
                    ccurl_resume(exchange.handle.transfer)
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
            var count: CInt = 0
            ccurl_multi_perform(multi.pointer, &count)
            for exchange in streamed.values { exchange.flush() }
            var result: CInt = 0
            while let transfer = ccurl_multi_next_ended(multi.pointer, &result) {
                ccurl_multi_remove(multi.pointer, transfer)
                streamed[transfer] = nil
                running.removeValue(forKey: transfer)?.land(result)
            }
            // Woken by a socket, by libcurl's own timers or by a wakeup. The bound only matters if all three were lost.
            ccurl_multi_poll(multi.pointer, 10_000)
        }
        let ended = inbox.withLock { inbox in
            // Here, because closing a TLS connection still writes to it.
            ccurl_multi_free(multi.pointer)
            inbox.isGone = true
            inbox.isRunning = false
            return inbox.ended
        }
        for flight in ended { flight.land(.success(())) }
    }

    private func stop(_ exchange: CurlExchange, among running: inout Exchanges) {
        running[exchange.handle.transfer] = nil
        ccurl_multi_remove(multi.pointer, exchange.handle.transfer)
        exchange.land(nil)
    }

    deinit {
        if !inbox.withLock({ $0.isGone }) { ccurl_multi_free(multi.pointer) }
    }
}
#endif
