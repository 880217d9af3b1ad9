#if os(Linux)
import CCurl
import Synchronization

/// What the requests of a transport share, whichever loop they are on: the queues in which they wait, the handles that
/// are kept for the next ones, which loops are open, and what is known about HTTP/3 and about sharing connections.
final class CurlPool: Sendable {
    /// The queues, and the handles that are kept.
    struct State {
        /// How many handles are kept. Each is a few kilobytes.
        static let mostIdle = 64

        var queues: CurlQueues
        private var idle: [CurlHandle] = []
        private(set) var isClosed = false

        init(_ queues: CurlQueues) {
            self.queues = queues
        }

        /// Takes a handle that was kept: best the last one that was on that loop.
        mutating func borrow(preferring loop: Int?) -> CurlHandle? {
            guard let loop, let place = idle.lastIndex(where: { $0.loop == loop }) else { return idle.popLast() }
            idle.swapAt(place, idle.endIndex - 1)
            return idle.popLast()
        }

        /// Keeps a handle for the next request, unless there are enough.
        mutating func keep(_ handle: CurlHandle) -> Bool {
            guard !isClosed, idle.count < Self.mostIdle else { return false }
            idle.append(handle)
            return true
        }

        /// Keeps no more handles. Returns those that were kept, which have to be freed, and those who wait.
        mutating func close() -> (idle: [CurlHandle], waiters: [CurlQueues.Waiter]) {
            isClosed = true
            defer { idle = [] }
            return (idle, queues.clear())
        }
    }

    private let handles: CurlHandles
    private let state: Lock<State>
    /// The greatest number of loops.
    let mostLoops: Int
    /// Which loop a request goes to. With one loop, nothing asks.
    private let choice: Lock<CurlChoice>
    private let open = Atomic(1)
    /// Which origins have requests that share connections.
    let multiplexing = Lock(CurlMultiplexing())
    /// What is known about HTTP/3, and whether that is used.
    let http3: Lock<CurlHTTP3>
    let usesHTTP3: Bool

    /// Creates the queues of requests with these handles.
    init(_ queues: CurlQueues, _ handles: CurlHandles, _ http3: CurlHTTP3? = nil, loops: Int = 1) {
        let choice = CurlChoice(most: loops)
        mostLoops = choice.most
        self.choice = Lock(choice)
        self.handles = handles
        state = Lock(State(queues))
        usesHTTP3 = http3 != nil && ccurl_speaks_http3()
        self.http3 = Lock(http3 ?? CurlHTTP3())
    }

    // MARK: Before a request

    /// Returns a handle to prepare a request with, if it is its turn in that queue; otherwise `nil`.
    func borrowAtOnce(
        for key: CurlQueues.Key, preferring loop: Int? = nil
    ) throws(ServiceError) -> CurlHandle? {
        let (isAdmitted, idle) = state.withLock { state in
            state.queues.enter(key) ? (true, state.borrow(preferring: loop)) : (false, nil)
        }
        guard isAdmitted else { return nil }
        if let idle { return idle }
        return try newHandle(for: key)
    }

    /// Joins that queue; `nil` if it is the request's turn already.
    func join(_ key: CurlQueues.Key) -> CurlQueues.Waiter? {
        state.withLock { $0.queues.join(key) }
    }

    /// Waits for the turn of a request that has joined the queue. Throws `.cancelled` when its scope is stopped.
    func borrow(
        as waiter: CurlQueues.Waiter?, for key: CurlQueues.Key, in scope: CallScope
    ) async throws(ServiceError) -> CurlHandle {
        if let waiter { try await turn(of: waiter, in: scope) }
        if let idle = state.withLock({ $0.borrow(preferring: nil) }) { return idle }
        return try newHandle(for: key)
    }

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
            state.withLock { $0.queues.leave(waiter) }
            throw error
        }
    }

    private func newHandle(for key: CurlQueues.Key) throws(ServiceError) -> CurlHandle {
        do throws(ServiceError) {
            guard !state.withLock({ $0.isClosed }) else { throw .transportShutDown(mayHaveReachedServer: false) }
            return try handles.new()
        } catch {
            admit(state.withLock { $0.queues.end(key) })
            throw error
        }
    }

    // MARK: After a request

    /// Takes a handle back whose transfer has ended, or was never started. It was the turn of a request in that queue;
    /// now it is the next one's.
    func giveBack(_ handle: CurlHandle, from key: CurlQueues.Key) {
        let version = ccurl_transfer_http_version(handle.transfer)
        let hasStreams: Bool? = version == 0 ? nil : version >= CCURL_HTTP_VERSION_2_0
        let isUsable = ccurl_transfer_reset(handle.transfer)
        let (isKept, next) = state.withLock { state in
            (isUsable && state.keep(handle), state.queues.end(key, hasStreams: hasStreams))
        }
        if !isKept { ccurl_transfer_free(handle.transfer) }
        admit(next)
    }

    /// For the thread: more requests to that origin make sense at once, because they share a connection.
    func noteStreams(of origin: UInt64) {
        admit(state.withLock { $0.queues.noteStreams(of: origin) })
    }

    /// Lets those continue whose turn it is. The turn of one that has been stopped goes to the next.
    private func admit(_ waiters: [CurlQueues.Waiter]) {
        var waiters = waiters[...]
        while let waiter = waiters.popFirst() {
            guard waiter.turn.complete(.success(())) == nil else { continue }
            waiters += state.withLock { $0.queues.end(waiter.key) }
        }
    }

    // MARK: Loops

    /// Chooses the loop of a request to that origin.
    func choose(for origin: Origin, preferring preferred: Int?, heldUp: CurlChoice.Numbers) -> CurlChoice.Place {
        let number = origin.number
        let mayShare = origin.scheme == "https" && multiplexing.withLock { $0.mayShare(to: number) }
        return changeChoice {
            $0.choose(for: number, mayShare: mayShare, preferring: preferred, heldUp: heldUp)
        }
    }

    /// Moves a request to the first loop, because its own could not be opened.
    func moveToFirst(_ place: CurlChoice.Place) -> CurlChoice.Place {
        changeChoice { $0.moveToFirst(place) }
    }

    /// Notes that a request has ended.
    func end(_ place: CurlChoice.Place, _ outcome: CurlChoice.Outcome) {
        choice.withLock { $0.end(place, outcome) }
    }

    /// Notes the version of HTTP that a response over TLS came over.
    func note(_ version: Int, of origin: UInt64, at place: CurlChoice.Place?) {
        guard multiplexing.withLock({ $0.note(version, of: origin) }), let place else { return }
        choice.withLock { $0.gather(at: place) }
    }

    /// Notes that an origin, over TLS, has given a connection that requests cannot share.
    func noteUnshared(_ origin: UInt64) {
        multiplexing.withLock { _ = $0.note(CCURL_HTTP_VERSION_1_1, of: origin) }
    }

    /// Opens another loop, and returns its number; `nil` if there are as many as may be.
    func openLoop() -> Int? { changeChoice { $0.open() } }

    /// Closes a loop. Returns `false` if a request has it.
    @discardableResult
    func closeLoop(_ number: Int) -> Bool { changeChoice { $0.close(number) } }

    /// The number of loops that are open.
    var openLoops: Int { open.load(ordering: .relaxed) }

    private func changeChoice<Result: Sendable>(_ change: (inout CurlChoice) -> Result) -> Result {
        choice.withLock { choice in
            defer { open.store(choice.openCount, ordering: .relaxed) }
            return change(&choice)
        }
    }

    /// The number of active requests of each loop that is open.
    var activeByLoop: [Int] { choice.withLock { $0.active } }

    /// Frees the handles that are kept, and fails those who wait.
    func close() {
        let (idle, waiters) = state.withLock { $0.close() }
        for handle in idle { ccurl_transfer_free(handle.transfer) }
        for waiter in waiters { waiter.turn.complete(.failure(.transportShutDown(mayHaveReachedServer: false))) }
    }

    /// The number of requests whose turn it is.
    var active: Int { state.withLock { $0.queues.active } }
    /// The number of requests that wait for their turn.
    var waiting: Int { state.withLock { $0.queues.waiting } }
}
#endif
