#if os(Linux)
import CCurl
#if canImport(Glibc)
import Glibc
#else
import Musl
#endif

/// What the thread of a `CurlLoop` does: turn after turn, until the loop is closed.
struct CurlWorker {
    private typealias Exchanges = [OpaquePointer: CurlExchange]

    /// How many connections without a transfer are kept at least; or as many as there ever were transfers at once. By
    /// itself libcurl keeps four times as many as there are at the moment: between two waves of calls, none.
    private static let fewestConnections = 512

    private let owner: CurlLoop
    private let loop: OpaquePointer
    private var running: Exchanges = [:]
    /// Those of them whose readers are told of what has come after each turn.
    private var streamed: Exchanges = [:]
    private var keptConnections = 0

    init(of owner: CurlLoop) {
        self.owner = owner
        loop = owner.core.loop
    }

    /// Works until the loop is closed; then no exchange is left.
    mutating func run() {
        blockSignals()
        ccurl_loop_enter(loop, "errand.curl")
        keepEnoughConnections()
        var jobs: [CurlInbox.Job] = []
        while true {
            waitForEvents()
            let isClosed = owner.takeJobs(for: &jobs)
            for job in jobs { perform(job) }
            jobs.removeAll(keepingCapacity: true)
            if isClosed { return stopAll() }
            keepEnoughConnections()
            moveBytes()
            tellReaders()
            landEnded()
        }
    }

    /// Goes on until the lookups have ended that an older libcurl cannot break off. Nobody waits for that.
    mutating func linger() {
        while ccurl_loop_is_busy(loop) {
            ccurl_loop_wait(loop, true)
            moveBytes()
            landEnded()
        }
    }

    // MARK: The steps of a turn

    /// Waits for sockets, timers and calls, unless there are jobs already.
    private func waitForEvents() {
        ccurl_loop_wait(loop, owner.mayWait())
    }

    private mutating func perform(_ job: CurlInbox.Job) {
        switch job {
        case .start(let exchange): start(exchange)
        case .resume(let exchange) where isRunning(exchange): resume(exchange)
        case .cancel(let exchange, let isOutOfTime) where isRunning(exchange):
            if isOutOfTime { ccurl_loop_distrust(loop, exchange.handle.transfer) }
            stop(exchange)
        // It has ended since.
        case .resume, .cancel: break
        case .endAll(let client, let flight):
            for exchange in running.values where exchange.context.client == client { stop(exchange) }
            flight.land(.success(()))
        }
    }

    private mutating func keepEnoughConnections() {
        let wanted = max(running.count, Self.fewestConnections)
        guard wanted > keptConnections else { return }
        keptConnections = wanted
        ccurl_loop_set_long(loop, CCURLMOPT_MAXCONNECTS, wanted)
    }

    /// Lets libcurl read and write where sockets are ready, and act on its timers.
    private func moveBytes() {
        ccurl_loop_work(loop)
    }

    private func tellReaders() {
        for exchange in streamed.values { exchange.flush() }
    }

    private mutating func landEnded() {
        var result = CCURLE_OK
        while let transfer = ccurl_loop_next_ended(loop, &result) {
            forget(transfer)?.land(result)
        }
    }

    private mutating func stopAll() {
        for exchange in running.values { stop(exchange) }
    }

    // MARK: One exchange

    private func isRunning(_ exchange: CurlExchange) -> Bool {
        running[exchange.handle.transfer] === exchange
    }

    private mutating func start(_ exchange: CurlExchange) {
        let transfer = exchange.handle.transfer
        guard ccurl_loop_add(loop, transfer) else { return exchange.land(CCURLE_OUT_OF_MEMORY) }
        running[transfer] = exchange
        if exchange.isStreamed { streamed[transfer] = exchange }
    }

    private mutating func resume(_ exchange: CurlExchange) {
        let result = ccurl_loop_resume(loop, exchange.handle.transfer)
        if result != CCURLE_OK { stop(exchange, with: result) }
    }

    /// Ends an exchange that runs: with a result of libcurl, or because nobody wants it any more.
    private mutating func stop(_ exchange: CurlExchange, with result: ccurl_code? = nil) {
        let transfer = exchange.handle.transfer
        forget(transfer)
        ccurl_loop_remove(loop, transfer)
        exchange.land(result)
    }

    /// Returns the exchange, if it was running.
    @discardableResult
    private mutating func forget(_ transfer: OpaquePointer) -> CurlExchange? {
        streamed[transfer] = nil
        return running.removeValue(forKey: transfer)
    }

    /// A broken connection is an error that libcurl reports. As a signal, which TLS libraries let through, it would end
    /// the process; and no handler of the program's own should run on this thread either.
    private func blockSignals() {
        var all = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_BLOCK, &all, nil)
    }
}
#endif
