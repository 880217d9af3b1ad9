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
    private typealias Lookups = CurlLookups<OpaquePointer>

    /// How many connections without a transfer are kept at least; or as many as there ever were transfers at once. By
    /// itself libcurl keeps four times as many as there are at the moment: between two waves of calls, none.
    private static let fewestConnections = 512

    private let core: CurlCore
    private let pool: CurlPool
    private var running: Exchanges = [:]
    /// Those of them whose readers are told of what has come after each turn.
    private var streamed: Exchanges = [:]
    private var lookups = Lookups()
    private var multiplexing = CurlMultiplexing()
    private var keptConnections = 0
    /// Empty between two turns, but for its memory.
    private var jobs: [CurlInbox.Job] = []

    init(_ core: CurlCore, _ pool: CurlPool) {
        self.core = core
        self.pool = pool
    }

    private var loop: OpaquePointer { core.loop }

    /// Prepares the thread of a loop. Returns its signals.
    static func prepareThread() -> CurlSignals {
        let signals = CurlSignals()
        signals.block()
        ccurl_name_thread("errand.curl")
        return signals
    }

    /// Does what there is to do. Returns for how many milliseconds the thread may wait then; `nil` if the loop is
    /// closed: then no exchange is left.
    mutating func turn(_ inbox: borrowing Lock<CurlInbox>) -> CInt? {
        let isClosed = inbox.withLock { $0.takeJobs(for: &jobs) }
        for job in jobs { perform(job) }
        jobs.removeAll(keepingCapacity: true)
        guard !isClosed else {
            stopAll()
            return nil
        }
        keepEnoughConnections()
        moveBytes()
        resumeRested()
        endTurn()
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
        while let next = lookups.next() { begin([next]) }
    }

    private mutating func perform(_ job: CurlInbox.Job) {
        switch job {
        case .start(let exchange): start(exchange)
        case .resume(let exchange) where isRunning(exchange): resume(exchange)
        case .cancel(let exchange, let isOutOfTime) where isRunning(exchange):
            stop(exchange, isOutOfTime: isOutOfTime)
        // It has ended since.
        case .resume, .cancel: break
        case .endAll(let client, let promise):
            for exchange in running.values where exchange.context.client == client && isRunning(exchange) {
                stop(exchange)
            }
            promise.complete(.success(()))
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
            multiplexing.note(exchange)
            noteEnd(of: exchange, result)
            // Those who wait for a lookup of its host need none if they get its connection.
            if result == CCURLE_OK, let next = lookups.noteFree(exchange.origin) { begin([next]) }
            exchange.complete(result)
        }
        endAbandonedLookups()
    }

    private mutating func stopAll() {
        // First those who have not begun: they would begin when another is stopped.
        for exchange in running.values where lookups.leave(exchange.handle.transfer) {
            forget(exchange.handle.transfer)
            exchange.complete(nil)
        }
        for exchange in running.values where isRunning(exchange) { stop(exchange, leavesLookup: false) }
    }

    // MARK: Lookups

    /// Lets those begin who have waited for a lookup that has ended: its request opens a connection, or has one that
    /// was kept. If others may share the connection, they wait until it is there, or for as long as a handshake takes.
    private mutating func noteLookups() {
        guard !lookups.leaders.isEmpty else { return }
        for (transfer, origin) in lookups.leaders where !ccurl_transfer_may_look_up(transfer) {
            lookups.noteAddress(of: origin)
            if let leader = running[transfer], multiplexing.isUnknown(to: leader), ccurl_loop_awaits(loop, transfer) {
                continue
            }
            let outcome: Lookups.Outcome = ccurl_transfer_has_opened(transfer) ? .found : .reused
            begin(lookups.end(origin, by: transfer, with: outcome, at: SystemTime.shared.now))
        }
    }

    /// Ends the lookup of an exchange that has ended before it was sent, with a failure or because it was canceled.
    private mutating func noteEnd(of exchange: CurlExchange, _ result: ccurl_code) {
        let transfer = exchange.handle.transfer
        guard lookups.leaders[transfer] != nil else { return }
        let outcome: Lookups.Outcome =
            if Lookups.Outcome(result) == .failed {
                .failed
            } else if result != CCURLE_OK, ccurl_transfer_has_opened(transfer) {
                // The address is known. The others find out at once whether they fail too, not one after the other.
                .found
            } else {
                .none
            }
        end(exchange.origin, by: transfer, with: outcome, result, ccurl_transfer_failure(transfer).words)
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
                let isFound = outcome == .found && !multiplexing.isUnknown(to: origin)
                end(origin, by: nil, with: outcome == .failed || isFound ? outcome : .none, result, words)
            }
        }
    }

    /// Lets those begin who have waited for a lookup, or has them fail with its result and its words.
    private mutating func end(
        _ origin: UInt64, by leader: OpaquePointer?, with outcome: Lookups.Outcome, _ result: ccurl_code,
        _ words: UnsafePointer<CChar>?
    ) {
        let transfers = lookups.end(origin, by: leader, with: outcome, at: SystemTime.shared.now)
        guard outcome == .failed else { return begin(transfers) }
        for transfer in transfers {
            ccurl_transfer_set_words(transfer, words)
            forget(transfer)?.complete(result)
        }
    }

    /// Lets these begin. If one of them cannot, it looks nothing up, so the first of those who wait for it does.
    private mutating func begin(_ transfers: [OpaquePointer]) {
        var transfers = transfers[...]
        while let transfer = transfers.popFirst() {
            guard let exchange = running[transfer] else { continue }
            let way = chooseHTTP3(for: exchange)
            guard !ccurl_loop_add(loop, transfer, multiplexing.isKnown(to: exchange, going: way)) else { continue }
            forget(transfer)
            exchange.noteHTTP3(hasFailed: false)
            transfers += lookups.end(exchange.origin, by: transfer, with: .none, at: SystemTime.shared.now)
            exchange.complete(CCURLE_OUT_OF_MEMORY)
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
        return ccurl_loop_add_again(loop, exchange.handle.transfer, multiplexing.isKnown(to: exchange, going: way))
    }

    // MARK: One exchange

    private func isRunning(_ exchange: CurlExchange) -> Bool {
        running[exchange.handle.transfer] === exchange
    }

    private mutating func start(_ exchange: CurlExchange) {
        // One that was canceled before was not running, so nothing has ended it.
        guard !exchange.isCancelled else { return exchange.complete(nil) }
        let transfer = exchange.handle.transfer
        running[transfer] = exchange
        if exchange.isStreamed { streamed[transfer] = exchange }
        let needsNothing = !exchange.hasName && !multiplexing.isUnknown(to: exchange)
        let now = SystemTime.shared.now
        guard needsNothing || lookups.begin(transfer, to: exchange.origin, hasName: exchange.hasName, at: now) else {
            return
        }
        begin([transfer])
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
        // One that has waited for a lookup has not begun.
        guard !lookups.leave(transfer) else { return }
        let silence = (exchange.context.timeout ?? .zero).wholeNanoseconds / 1000
        let hasBeenSilent = isOutOfTime && ccurl_loop_note_timeout(loop, transfer, silence)
        exchange.noteHTTP3(hasFailed: hasBeenSilent)
        if leavesLookup, lookups.leaders[transfer] != nil, ccurl_loop_leave_lookup(loop, transfer) {
            return lookups.abandon(transfer)
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
