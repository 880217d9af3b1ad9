#if os(Linux)
import CCurl
#if canImport(Glibc)
import Glibc
#else
import Musl
#endif

/// What the thread of a loop does: turn after turn, until the loop is closed. In between, a caller's thread can
/// send a request.
///
/// It is safe to send because it is behind the loop's lock, and so is the C side, which only it uses.
struct CurlWorker: @unchecked Sendable {
    private typealias Exchanges = [OpaquePointer: CurlExchange]
    private typealias Lookups = CurlEntrance.Lookups

    /// How many connections without a transfer all loops keep at least; or each as many as it ever had transfers at
    /// once. By itself libcurl keeps four times as many as there are at the moment: between two waves of calls, none.
    private static let fewestConnections = 512
    /// So many exchanges may make a long turn.
    private static let many = 16

    private let core: CurlCore
    private let pool: CurlPool
    private let entrance: CurlEntrance
    private var running: Exchanges = [:]
    /// Those of them whose readers are told of what has come after each turn.
    private var streamed: Exchanges = [:]
    /// Those of them for whose lookups others wait.
    private var leaders: Exchanges = [:]
    /// How many exchanges have started, and the most of them at once.
    private(set) var started = 0
    private var most = 0
    private var keptConnections = 0
    /// Empty between two turns, but for its memory.
    private var jobs: [CurlInbox.Job] = []

    init(_ core: CurlCore, _ pool: CurlPool, _ entrance: CurlEntrance) {
        self.core = core
        self.pool = pool
        self.entrance = entrance
    }

    private var loop: OpaquePointer { core.loop }

    /// Whether no exchange runs, and no lookup goes on.
    var isIdle: Bool { running.isEmpty && !ccurl_loop_has_lookups(loop) }

    /// Prepares the thread of a loop.
    static func prepareThread(_ signals: CurlSignals) {
        signals.block()
        ccurl_name_thread("errand.curl")
    }

    /// Does what there is to do. Returns for how many milliseconds the thread may wait then; `nil` if the loop is
    /// closed: then no exchange is left.
    mutating func turn(_ inbox: borrowing Lock<CurlInbox>, _ rounds: borrowing CurlRounds) -> CInt? {
        let isClosed = inbox.withLock { $0.takeJobs(for: &jobs) }
        // With fewer, a turn is short unless one thing takes long.
        let isLong = pool.mostLoops > 1 && running.count + jobs.count > Self.many
        for job in jobs { perform(job) }
        if isLong { rounds.goOn() }
        jobs.removeAll(keepingCapacity: true)
        guard !isClosed else {
            stopAll()
            return nil
        }
        keepEnoughConnections()
        moveBytes()
        if isLong { rounds.goOn() }
        resumeRested()
        endTurn()
        if isLong { rounds.goOn() }
        ccurl_loop_renew_handles(loop)
        return ccurl_loop_prepare_wait(loop, inbox.withLock { $0.mayWait() })
    }

    /// For a caller's thread, while the loop's waits: starts the exchange and sends its request, if that is all that it
    /// takes. Returns whether it did.
    ///
    /// The caller has asked whether it is quiet, but without the lock that this and a turn are behind. In between, the
    /// loop may have been closed and have had its last turn, after which nothing would end the exchange. So it is asked
    /// here again: a loop that is not closed by now has its last turn later, and that ends the exchange.
    mutating func send(_ exchange: CurlExchange, _ inbox: borrowing Lock<CurlInbox>) -> Bool {
        guard running.isEmpty, !pool.usesHTTP3, inbox.withLock({ $0.isQuiet }) else { return false }
        guard ccurl_loop_can_send_at_once(loop, exchange.handle.transfer) else { return false }
        start(exchange)
        ccurl_loop_send_here(loop)
        endTurn()
        if ccurl_loop_waits_too_long(loop) { core.wake() }
        return true
    }

    /// Goes on until the lookups have ended that an older libcurl cannot break off. No call waits for that.
    mutating func linger() {
        while ccurl_loop_is_busy(loop) {
            ccurl_loop_wait(loop, ccurl_loop_prepare_wait(loop, true))
            moveBytes()
            completeEnded()
            ccurl_loop_renew_handles(loop)
        }
    }

    // MARK: The steps of a turn

    private mutating func endTurn() {
        noteLookups()
        tellReaders()
        completeEnded()
    }

    private mutating func perform(_ job: CurlInbox.Job) {
        switch job {
        case .start(let exchange): start(exchange)
        case .resume(let exchange) where isRunning(exchange): resume(exchange)
        case .cancel(let exchange, let isOutOfTime) where isRunning(exchange):
            stop(exchange, isOutOfTime: isOutOfTime)
        // It has ended since.
        case .resume, .cancel: break
        case .endAll(let client, let latch):
            for exchange in running.values where exchange.context.client == client && isRunning(exchange) {
                stop(exchange)
            }
            latch.open()
        }
    }

    private mutating func keepEnoughConnections() {
        most = max(most, running.count)
        let wanted = max(most, Self.fewestConnections / pool.openLoops)
        guard wanted != keptConnections else { return }
        keptConnections = wanted
        ccurl_loop_set_long(loop, CCURLMOPT_MAXCONNECTS, wanted)
    }

    /// Lets libcurl read and write where sockets are ready, and act on its timers.
    private func moveBytes() {
        ccurl_loop_work(loop)
    }

    /// Lets some of the transfers go on that were paused because they kept the thread for too long.
    private mutating func resumeRested() {
        while let transfer = ccurl_loop_next_rested(loop) {
            guard let exchange = running[transfer] else { return }
            resume(exchange)
        }
    }

    private func tellReaders() {
        for exchange in streamed.values { exchange.flush() }
    }

    private mutating func completeEnded() {
        var result = CCURLE_OK
        while let transfer = ccurl_loop_next_ended(loop, &result) {
            if ccurl_transfer_lacks_http3(transfer), let exchange = running[transfer] {
                if beginAgain(exchange) { continue }
                result = CCURLE_OUT_OF_MEMORY
            }
            guard let exchange = forget(transfer) else { continue }
            exchange.noteHTTP3(hasFailed: exchange.hasLostConnection)
            // First, because those who have waited may begin then.
            exchange.noteSharing()
            noteEnd(of: exchange, result)
            exchange.complete(result)
            // Those who wait for a lookup of its host need none if they get its connection.
            if result == CCURLE_OK { entrance.noteFree(exchange, on: core.number) }
        }
        endAbandonedLookups()
    }

    private mutating func stopAll() {
        for exchange in running.values where isRunning(exchange) { stop(exchange, leavesLookup: false) }
    }

    // MARK: Lookups

    /// Lets those begin who have waited for a lookup that has ended: its request opens a connection, or has one that
    /// was kept. If others may share the connection, they wait until it is there, or for as long as a handshake takes.
    private mutating func noteLookups() {
        guard !leaders.isEmpty else { return }
        for (transfer, leader) in leaders where !ccurl_transfer_may_look_up(transfer) {
            entrance.noteAddress(of: leader)
            if leader.mayTurnOutToShare, ccurl_loop_awaits(loop, transfer) { continue }
            leaders[transfer] = nil
            entrance.endLookup(
                of: leader.origin, by: leader, with: ccurl_transfer_has_opened(transfer) ? .found : .reused)
        }
    }

    /// Ends the lookup of an exchange that has ended before it was sent, with a failure or because it was canceled.
    private mutating func noteEnd(of exchange: CurlExchange, _ result: ccurl_code) {
        let transfer = exchange.handle.transfer
        guard leaders.removeValue(forKey: transfer) != nil else { return }
        let outcome: Lookups.Outcome =
            if Lookups.Outcome(result) == .failed {
                .failed
            } else if result != CCURLE_OK, ccurl_transfer_has_opened(transfer) {
                // The address is known. The others find out at once whether they fail too, not one after the other.
                .found
            } else {
                .none
            }
        entrance.endLookup(
            of: exchange.origin, by: exchange, with: outcome, result, ccurl_transfer_failure(transfer).words)
    }

    /// Ends the lookups that went on when their exchanges were stopped.
    private mutating func endAbandonedLookups() {
        var lookup = ccurl_lookup()
        while ccurl_loop_next_lookup(loop, &lookup) {
            let (origin, result) = (lookup.origin, lookup.result)
            withUnsafeBytes(of: lookup.words) { words in
                let words = words.assumingMemoryBound(to: CChar.self).baseAddress
                // Nothing is known of the connection, which the first of those who wait has yet to make.
                let outcome = Lookups.Outcome(result)
                let isFound = outcome == .found && !pool.multiplexing.withLock { $0.isUnknown(to: origin) }
                entrance.endLookup(
                    of: origin, by: nil, with: outcome == .failed || isFound ? outcome : .none, result, words)
            }
        }
    }

    // MARK: HTTP/3

    /// Chooses the way of an exchange that is about to begin, and returns it.
    private func chooseHTTP3(for exchange: CurlExchange, again isAgain: Bool = false) -> CurlHTTP3.Way {
        guard pool.usesHTTP3 else { return .usual }
        let (loop, origin) = (loop, exchange.origin)
        guard ccurl_loop_may_use_http3(loop, exchange.handle.transfer) else {
            // It may have had another way, if its server has asked for HTTP/1.1 since.
            exchange.choose(.usual)
            return .usual
        }
        let way = pool.http3.withLock { http3 in
            http3.way(to: origin, at: SystemTime.shared.now) {
                !isAgain && ccurl_loop_has_http3(loop, origin)
            }
        }
        exchange.choose(way)
        return way
    }

    /// Begins an exchange again that found no connection of HTTP/3. Returns whether libcurl accepts it.
    private func beginAgain(_ exchange: CurlExchange) -> Bool {
        exchange.noteHTTP3(hasFailed: false)
        let way = chooseHTTP3(for: exchange, again: true)
        return ccurl_loop_add_again(loop, exchange.handle.transfer, isKnown(to: exchange, going: way))
    }

    // MARK: Sharing connections

    /// Whether requests to the origin of the exchange that go that way are known to share connections.
    private func isKnown(to exchange: CurlExchange, going way: CurlHTTP3.Way) -> Bool {
        exchange.isEncrypted && pool.multiplexing.withLock { $0.isKnown(to: exchange.origin, going: way) }
    }

    // MARK: One exchange

    private func isRunning(_ exchange: CurlExchange) -> Bool {
        running[exchange.handle.transfer] === exchange
    }

    private mutating func start(_ exchange: CurlExchange) {
        // One that was canceled before was not running, so nothing has ended it.
        guard !exchange.isCancelled else { return exchange.complete(nil) }
        let transfer = exchange.handle.transfer
        started += 1
        running[transfer] = exchange
        if exchange.isStreamed { streamed[transfer] = exchange }
        if exchange.looksUp { leaders[transfer] = exchange }
        let way = chooseHTTP3(for: exchange)
        guard !ccurl_loop_add(loop, transfer, isKnown(to: exchange, going: way)) else { return }
        forget(transfer)
        leaders[transfer] = nil
        exchange.noteHTTP3(hasFailed: false)
        exchange.complete(CCURLE_OUT_OF_MEMORY)
    }

    private mutating func resume(_ exchange: CurlExchange) {
        let result = ccurl_loop_resume(loop, exchange.handle.transfer)
        if result != CCURLE_OK { stop(exchange, with: result) }
    }

    /// Ends an exchange that runs: with a result of libcurl, or because it is not wanted any more.
    private mutating func stop(
        _ exchange: CurlExchange, with result: ccurl_code? = nil, isOutOfTime: Bool = false, leavesLookup: Bool = true
    ) {
        let transfer = exchange.handle.transfer
        forget(transfer)
        defer { exchange.complete(result) }
        let silence = (exchange.context.timeout ?? .zero).wholeNanoseconds / 1000
        let hasBeenSilent = isOutOfTime && ccurl_loop_note_timeout(loop, transfer, silence)
        exchange.noteHTTP3(hasFailed: hasBeenSilent)
        if leavesLookup, leaders[transfer] != nil, ccurl_loop_leave_lookup(loop, transfer) {
            leaders[transfer] = nil
            entrance.abandonLookup(of: exchange)
            return
        }
        ccurl_loop_remove(loop, transfer)
        noteEnd(of: exchange, isOutOfTime ? CCURLE_OPERATION_TIMEDOUT : CCURLE_OK)
    }

    /// Returns the exchange, if it was running.
    @discardableResult
    private mutating func forget(_ transfer: OpaquePointer) -> CurlExchange? {
        streamed[transfer] = nil
        return running.removeValue(forKey: transfer)
    }
}

extension CurlLookups.Outcome {
    /// What the result of a request says about the lookup of its host. Without a failure of its own it has found an
    /// address; what is out of time has found nothing.
    fileprivate init(_ result: ccurl_code) {
        self =
            switch result {
            case CCURLE_COULDNT_RESOLVE_HOST, CCURLE_COULDNT_RESOLVE_PROXY: .failed
            case CCURLE_OPERATION_TIMEDOUT, CCURLE_OUT_OF_MEMORY: .none
            default: .found
            }
    }
}
#endif
