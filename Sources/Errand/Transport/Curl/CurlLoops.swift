#if os(Linux)
import CCurl
import Synchronization

/// The loops of a transport: one, until another is worth it.
///
/// An exchange begins on the loop that is chosen for it. One that has to wait for the lookup of its host (see
/// `CurlLookups`) is on no loop until it begins: then there may be a connection for it, on any of them.
///
/// As an executor, it runs the jobs of tasks on their threads: a job that one of these threads makes stays there, and
/// another goes to the first that is not held up.
final class CurlLoops: Sendable {
    /// For how long a loop other than the first stays without anything to do. libcurl uses no connection that was kept
    /// for longer.
    static let idleTime = Duration.seconds(120)

    /// How long no other loop is tried after one could not be opened.
    private static let pause = Duration.seconds(1)

    private struct State {
        /// By their numbers, but for the first.
        var loops: [CurlLoop?]
        /// Those whose threads are about to end.
        var retired: [CurlLoop] = []
        /// Until when no other is tried.
        var pauseEnd: Instant?
        var isClosed = false
    }

    let pool: CurlPool
    private let handles: CurlHandles
    private let idleTime: Duration
    /// Those of the thread that has created the loops: the thread of a loop may be launched by another one's.
    private let signals = CurlSignals()
    private let first: CurlLoop
    private let state: Lock<State>
    private let entrance = CurlEntrance()
    /// The number of loops that was told last.
    private let told = Atomic(1)

    /// Creates the first loop; `nil` if there is no memory for it, or no descriptor left.
    init?(_ handles: CurlHandles, pool: CurlPool, idleTime: Duration) {
        guard let core = CurlCore(handles) else { return nil }
        self.pool = pool
        self.handles = handles
        self.idleTime = idleTime
        first = CurlLoop(core, pool: pool, entrance, signals, idleTime: idleTime)
        state = Lock(State(loops: Array(repeating: nil, count: pool.mostLoops)))
        first.join(self)
        entrance.open { [weak self] exchange, preferred in
            let loop = self?.loop(for: exchange, preferring: preferred)
            guard let loop, let notice = loop.add(exchange) else { return nil }
            return { loop.act(on: notice) }
        }
    }

    // MARK: Exchanges

    /// Starts the exchange: at once, or after the lookup of its host that is under way.
    func start(_ exchange: CurlExchange) {
        switch entrance.enter(exchange) {
        case .ready:
            let loop = loop(for: exchange, preferring: preferred ?? exchange.handle.loop)
            if loop?.start(exchange) != true { exchange.complete(nil) }
        case .waiting: break
        case .ended: exchange.complete(nil)
        }
    }

    /// Resumes an exchange that has paused. Does nothing if it has ended.
    func resume(_ exchange: CurlExchange) {
        exchange.loop?.resume(exchange)
    }

    /// Ends the exchange, which completes with `nil`; one that is yet to be started does not begin. If its time is up,
    /// the connection on which it has waited takes no more requests.
    func cancel(_ exchange: CurlExchange, isOutOfTime: Bool = false) {
        // First: whoever starts it sees this, or it is on a loop, or waits.
        exchange.noteCancellation()
        if let loop = exchange.loop { return loop.cancel(exchange, isOutOfTime: isOutOfTime) }
        if entrance.leave(exchange) { exchange.complete(nil) }
    }

    /// Chooses the loop of the exchange, and opens it if need be; `nil` if the exchange was canceled.
    private func loop(for exchange: CurlExchange, preferring preferred: Int?) -> CurlLoop? {
        guard pool.mostLoops > 1 else { return exchange.begin(on: first, at: nil) ? first : nil }
        var place = pool.choose(for: exchange.server, preferring: preferred, heldUp: heldUp)
        var loop = first
        if place.loop > 0 {
            if let other = opened(place.loop) { loop = other } else { place = pool.moveToFirst(place) }
        }
        if exchange.begin(on: loop, at: place) { return loop }
        pool.end(place, .unused)
        return nil
    }

    // MARK: Loops

    /// The loop whose thread this is, if it is one of these.
    private var current: CurlLoop? {
        guard let loop = CurlLoop.current, loop.pool === pool else { return nil }
        return loop
    }

    /// The number of the loop whose thread this is, if that matters.
    var preferred: Int? { pool.mostLoops > 1 ? current?.number : nil }

    /// The numbers of those that have not come back for long. One whose thread asks, for a task, is not held up by
    /// that: it comes back when the task waits for its call.
    private var heldUp: CurlChoice.Numbers {
        let current = current
        var numbers: CurlChoice.Numbers = first !== current && first.isHeldUp ? [0] : []
        guard pool.openLoops > 1 else { return numbers }
        state.withLock { state in
            for case let loop? in state.loops where loop !== current && loop.isHeldUp { numbers.insert(loop.number) }
        }
        return numbers
    }

    /// The loop with that number, which is opened if need be; `nil` if it cannot be.
    private func opened(_ number: Int) -> CurlLoop? {
        state.withLock { state in
            if let loop = state.loops[number] { return loop }
            let now = SystemTime.shared.now
            guard !state.isClosed, state.pauseEnd.map({ $0 <= now }) ?? true else { return nil }
            guard let loop = newLoop(number) else {
                state.pauseEnd = now.advanced(by: Self.pause)
                return nil
            }
            state.loops[number] = loop
            return loop
        }
    }

    private func newLoop(_ number: Int) -> CurlLoop? {
        guard let core = CurlCore(handles, number: number) else { return nil }
        let loop = CurlLoop(core, pool: pool, entrance, signals, idleTime: idleTime)
        loop.join(self)
        return loop.open() ? loop : nil
    }

    /// Closes a loop that has been idle for long, unless it was chosen since. For its thread.
    func retire(_ loop: CurlLoop) {
        let isRetired = state.withLock { state in
            guard state.loops[loop.number] === loop, pool.closeLoop(loop.number) else { return false }
            state.loops[loop.number] = nil
            state.retired.removeAll { $0.hasEnded }
            state.retired.append(loop)
            return true
        }
        if isRetired { loop.close() }
    }

    /// All loops whose threads may run.
    private var all: [CurlLoop] {
        [first] + state.withLock { $0.loops.compactMap(\.self) + $0.retired }
    }

    /// Ends all exchanges of a client, and waits until they have ended.
    func endAll(of client: TransportContext.Client) async {
        for exchange in entrance.leaveAll(of: client) { exchange.complete(nil) }
        for loop in all { await loop.endAll(of: client) }
    }

    /// Ends all exchanges, and the threads.
    func close() {
        state.withLock { $0.isClosed = true }
        pool.close()
        entrance.close()
        for exchange in entrance.leaveAll() { exchange.complete(nil) }
        for loop in all { loop.close() }
    }

    /// Waits until the threads have ended.
    func closed() async {
        for loop in all { await loop.closed() }
    }

    /// Returns what there is to tell: a warning if a job of a task has held up a thread, once a minute for each; and
    /// each change of the number of threads.
    func takeEvent() -> ClientEvent.Kind? {
        if let warning = takeWarning() { return .warned(warning) }
        guard told.load(ordering: .relaxed) != pool.openLoops else { return nil }
        let active = pool.activeByLoop
        // Another call may have told it by now.
        return told.exchange(active.count, ordering: .relaxed) == active.count ? nil : .threads(active)
    }

    private func takeWarning() -> String? {
        first.takeWarning()
            ?? state.withLock { state in
                for case let loop? in state.loops { if let warning = loop.takeWarning() { return warning } }
                return nil
            }
    }
}

extension CurlLoops: TaskExecutor {
    /// Runs a job of a task between two turns of a thread; on one of Swift's own if that ends or has ended.
    func enqueue(_ job: consuming ExecutorJob) {
        (current ?? ready ?? first).enqueue(UnownedJob(job))
    }

    private var ready: CurlLoop? {
        guard pool.mostLoops > 1, first.isHeldUp else { return first }
        return state.withLock { $0.loops.first { $0.map { !$0.isHeldUp } ?? false } ?? nil }
    }

    /// Has another loop run jobs for which that one has no time. Returns those that no other takes.
    func runElsewhere(_ tasks: ArraySlice<UnownedJob>, than loop: CurlLoop) -> ArraySlice<UnownedJob> {
        guard pool.mostLoops > 1, let other = other(than: loop) else { return tasks }
        let middle = tasks.startIndex + tasks.count / 2
        for task in tasks[middle...] { other.enqueue(task) }
        return tasks[..<middle]
    }

    private func other(than loop: CurlLoop) -> CurlLoop? {
        let others = [first] + state.withLock { $0.loops.compactMap(\.self) }
        if let other = others.first(where: { $0 !== loop && !$0.isHeldUp && $0.isFree }) { return other }
        guard let number = pool.openLoop() else { return nil }
        let other = opened(number)
        if other == nil { pool.closeLoop(number) }
        return other
    }
}
#endif
