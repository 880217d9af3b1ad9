#if os(Linux)
import CCurl
#if canImport(Glibc)
import Glibc
#else
import Musl
#endif

/// One request on its way through libcurl. Between `start` and the landing it belongs to the loop's thread, else to its caller.
final class CurlExchange: Sendable {
    /// The C side. Not Sendable by itself; the hand-over through the loop's lock is what makes it safe.
    struct Handle: @unchecked Sendable {
        let transfer: UnsafeMutablePointer<ccurl_transfer>
    }

    let handle: Handle
    /// Lands with libcurl's result when the transfer has ended and libcurl has let go of it; `nil` if it was cancelled.
    let end = Flight<CInt?>()

    init(_ handle: Handle) {
        self.handle = handle
    }

    func land(_ result: CInt?) {
        end.land(.success(result))
    }
}

/// The thread on which libcurl works: one multi handle, woken when there is something new to do.
///
/// It lives until `close`; the transport closes it when it goes.
final class CurlLoop: Sendable {
    private struct Inbox {
        var starting: [CurlExchange] = []
        var cancelling: [CurlExchange] = []
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
            let wasEmpty = inbox.starting.isEmpty && inbox.cancelling.isEmpty
            inbox.starting.append(exchange)
            defer { inbox.isRunning = true }
            return (true, !inbox.isRunning, wasEmpty)
        }
        if mustRun { launch() } else if mustWake { wake() }
        return isOpen
    }

    /// Has the exchange ended; it lands with `nil`.
    func cancel(_ exchange: CurlExchange) {
        inbox.withLock { $0.cancelling.append(exchange) }
        wake()
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
            let starting = inbox.withLock { inbox in
                inbox.isRunning = false
                defer { inbox.starting = [] }
                return inbox.starting
            }
            for exchange in starting { exchange.land(Self.outOfMemory) }
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
        var running: [UnsafeMutablePointer<ccurl_transfer>: CurlExchange] = [:]
        while true {
            let (starting, cancelling, isClosed) = inbox.withLock { inbox in
                defer {
                    inbox.starting = []
                    inbox.cancelling = []
                }
                return (inbox.starting, inbox.cancelling, inbox.isClosed)
            }
            for exchange in starting {
                running[exchange.handle.transfer] = exchange
                ccurl_multi_add(multi.pointer, exchange.handle.transfer)
            }
            for exchange in isClosed ? Array(running.values) : cancelling
            where running[exchange.handle.transfer] === exchange {
                running[exchange.handle.transfer] = nil
                ccurl_multi_remove(multi.pointer, exchange.handle.transfer)
                exchange.land(nil)
            }
            if isClosed { break }
            var count: CInt = 0
            ccurl_multi_perform(multi.pointer, &count)
            var result: CInt = 0
            while let transfer = ccurl_multi_next_ended(multi.pointer, &result) {
                ccurl_multi_remove(multi.pointer, transfer)
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

    deinit {
        if !inbox.withLock({ $0.isGone }) { ccurl_multi_free(multi.pointer) }
    }
}
#endif
