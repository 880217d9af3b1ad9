#if os(Linux)
import CCurl
import Synchronization

/// Where the exchanges of a transport wait that are on no loop yet: for the lookup of their host by another. See
/// `CurlLookups`.
final class CurlEntrance: Sendable {
    typealias Lookups = CurlLookups<CurlExchange>

    /// What becomes of an exchange that enters.
    enum Entry {
        /// It need not wait.
        case ready
        case waiting
        /// It was canceled, or the transport has shut down.
        case ended
    }

    private struct State {
        var lookups = Lookups()
        var isClosed = false
        var place: Placing = { _, _ in nil }
        /// What has to be done without the lock. One thread does all of it: an exchange that ends as it begins lets the
        /// next begin, and with thousands of them, calls within calls would overflow the stack.
        var steps: [@Sendable () -> Void] = []
        var isStepping = false
    }

    /// Places an exchange on a loop: best on the one with that number. Returns what has it begin; `nil` if it does not.
    typealias Placing = @Sendable (CurlExchange, _ preferred: Int?) -> (@Sendable () -> Void)?

    /// Held until an exchange that has waited is on a loop, so that none is in between.
    private let state = Lock(State())
    /// Whether a host is being looked up, to be asked without the lock.
    private let looksUp = Atomic(false)

    /// Sets what places an exchange that has waited.
    func open(_ place: @escaping Placing) {
        state.withLock { $0.place = place }
    }

    // MARK: Exchanges

    /// Lets the exchange in, or has it wait.
    func enter(_ exchange: CurlExchange) -> Entry {
        if exchange.needsNoLookup { return .ready }
        passOver(exchange.origin)
        return state.withLock { state in
            // One that is canceled later leaves.
            guard !state.isClosed, !exchange.isCancelled else { return .ended }
            defer { looksUp.store(!state.lookups.isEmpty, ordering: .relaxed) }
            let isReady = state.lookups.begin(
                exchange, to: exchange.origin, hasName: exchange.hasName, at: SystemTime.shared.now)
            noteLookup(exchange, state.lookups)
            return isReady ? .ready : .waiting
        }
    }

    /// Removes an exchange that waits. Returns whether it did.
    func leave(_ exchange: CurlExchange) -> Bool {
        looksUp.load(ordering: .relaxed) && state.withLock { $0.lookups.leave(exchange) }
    }

    /// Removes the exchanges of a client that wait, or all of them, and returns them.
    func leaveAll(of client: TransportContext.Client? = nil) -> [CurlExchange] {
        state.withLock { state in
            let leaving = state.lookups.waiting.filter { client == nil || $0.context.client == client }
            return leaving.filter { state.lookups.leave($0) }
        }
    }

    /// Lets nobody in any more.
    func close() {
        state.withLock { $0.isClosed = true }
    }

    /// Has another look up the host of an origin if the loop of the one that does is held up.
    private func passOver(_ origin: UInt64) {
        guard looksUp.load(ordering: .relaxed) else { return }
        let leader = state.withLock { $0.lookups.leader(of: origin) }
        if let leader, leader.loop?.isHeldUp ?? false { endLookup(of: origin, by: leader, with: .none) }
    }

    /// Sees to it that nobody waits for the lookup of the exchange, if that is one, when the exchange has ended.
    private func noteLookup(_ exchange: CurlExchange, _ lookups: Lookups) {
        guard lookups.leaders[exchange] != nil else { return }
        exchange.noteLookup { [self] in endLookup(of: $0.origin, by: $0, with: .none) }
    }

    // MARK: Lookups

    /// Notes that the host of the exchange is not being looked up any more.
    func noteAddress(of exchange: CurlExchange) {
        change { lookups in
            lookups.noteAddress(by: exchange)
            return []
        }
    }

    /// Notes that the exchange has left a connection on the loop with that number.
    func noteFree(_ exchange: CurlExchange, on loop: Int) {
        guard looksUp.load(ordering: .relaxed) else { return }
        change(preferring: loop) { lookups in lookups.noteFree(exchange.origin).map { [$0] } ?? [] }
    }

    /// Notes that the exchange ends, and that the lookup of its host goes on.
    func abandonLookup(of exchange: CurlExchange) {
        exchange.noteEndOfLookup()
        change { lookups in
            lookups.abandon(exchange)
            return []
        }
    }

    /// Ends the lookup of an origin by that exchange, or of one that was abandoned. Those who have waited begin, or
    /// fail with its result and its words.
    func endLookup(
        of origin: UInt64, by leader: CurlExchange?, with outcome: Lookups.Outcome, _ result: ccurl_code = CCURLE_OK,
        _ words: UnsafePointer<CChar>? = nil
    ) {
        leader?.noteEndOfLookup()
        var failed: [CurlExchange] = []
        change { lookups in
            let others = lookups.end(origin, by: leader, with: outcome, at: SystemTime.shared.now)
            guard outcome == .failed else { return others }
            failed = others
            return []
        }
        for exchange in failed {
            ccurl_transfer_set_words(exchange.handle.transfer, words)
            exchange.complete(result)
        }
    }

    /// Changes the lookups, and starts the exchanges that need not wait any more: those that `change` returns, and the
    /// next in line.
    private func change(preferring loop: Int? = nil, _ change: (inout Lookups) -> [CurlExchange]) {
        // Released outside the lock: the last reference to one may be that to a reader that cancels another.
        var ready: [CurlExchange] = []
        let isFirst = state.withLock { state in
            ready = change(&state.lookups)
            while let next = state.lookups.next() { ready.append(next) }
            for exchange in ready {
                noteLookup(exchange, state.lookups)
                state.steps.append(state.place(exchange, loop) ?? { exchange.complete(nil) })
            }
            looksUp.store(!state.lookups.isEmpty, ordering: .relaxed)
            defer { state.isStepping = true }
            return !state.isStepping
        }
        if isFirst { takeSteps() }
    }

    private func takeSteps() {
        while true {
            let steps = state.withLock { state in
                defer { state.steps = [] }
                state.isStepping = !state.steps.isEmpty
                return state.steps
            }
            if steps.isEmpty { return }
            for step in steps { step() }
        }
    }
}
#endif
