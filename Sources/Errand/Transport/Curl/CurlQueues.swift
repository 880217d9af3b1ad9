#if os(Linux)
/// Who may send to which origin: so many exchanges at once, and behind them a queue in which each waits for its turn.
///
/// An exchange that waits has no handle, no connection and nothing prepared: ten thousand at once cost their tasks and
/// little else. An exchange that ends hands its place to the first in the queue, so nobody overtakes. Over HTTP/1.1
/// each has a connection of its own; over HTTP/2 they share one, and more of them make sense. Which of the two an
/// origin speaks shows with the last connection to it, or with the last response.
struct CurlQueues {
    /// An exchange in a queue.
    final class Waiter: Sendable {
        let origin: UInt64
        fileprivate let seat: Int
        /// Lands when it is the waiter's turn.
        let turn = Flight<Void, ServiceError>()

        fileprivate init(_ seat: Int, of origin: UInt64) {
            self.origin = origin
            self.seat = seat
        }
    }

    /// The greatest number of active exchanges of an origin.
    private typealias Most = (connections: Int, streams: Int)

    private struct Queue {
        var active = 0
        var speaksHTTP2 = false
        /// By their seats. A seat that was left in the middle takes no memory, however long the first ones wait.
        var waiters: [Int: Waiter] = [:]
        /// No waiter has a lower seat than the first of these, and the next one gets the second.
        var (first, end) = (0, 0)

        /// Makes one more exchange active, unless there are `most` already.
        mutating func admit(atMost most: Most) -> Bool {
            guard active < (speaksHTTP2 ? most.streams : most.connections) else { return false }
            active += 1
            return true
        }

        mutating func join(_ origin: UInt64) -> Waiter {
            let waiter = Waiter(end, of: origin)
            waiters[end] = waiter
            end += 1
            return waiter
        }

        /// Ends an active exchange, and adds those whose turn it is.
        mutating func end(_ usedHTTP2: Bool?, atMost most: Most, into next: inout [Waiter]) {
            active -= 1
            note(usedHTTP2, atMost: most, into: &next)
        }

        /// Notes whether the origin speaks HTTP/2, if that is known, and adds those whose turn it is.
        mutating func note(_ isHTTP2: Bool?, atMost most: Most, into next: inout [Waiter]) {
            if let isHTTP2 { speaksHTTP2 = isHTTP2 }
            while !waiters.isEmpty, admit(atMost: most), let waiter = popFirst() { next.append(waiter) }
        }

        private mutating func popFirst() -> Waiter? {
            while first < end {
                first += 1
                if let waiter = waiters.removeValue(forKey: first - 1) { return waiter }
            }
            return nil
        }
    }

    private let most: Most
    private var queues: [UInt64: Queue] = [:]
    /// At this number of queues, those that nobody uses are forgotten.
    private var sweepsAt = 1024
    /// The number of exchanges that are active, at all origins.
    private(set) var active = 0

    /// Creates queues for origins with at most so many exchanges at once over HTTP/1.1, and over HTTP/2.
    init(connections: Int, streams: Int) {
        most = (max(1, connections), max(1, streams))
    }

    /// The number of origins that have a queue.
    var origins: Int { queues.count }
    /// The number of exchanges that wait, at all origins.
    var waiting: Int { queues.values.reduce(0) { $0 + $1.waiters.count } }

    /// Makes an exchange active if there is a place for it.
    mutating func enter(_ origin: UInt64) -> Bool {
        if queues.count >= sweepsAt { sweep() }
        guard queues[origin, default: Queue()].admit(atMost: most) else { return false }
        active += 1
        return true
    }

    /// Makes an exchange active, or adds a waiter who will be.
    mutating func join(_ origin: UInt64) -> Waiter? {
        guard !enter(origin) else { return nil }
        return queues[origin, default: Queue()].join(origin)
    }

    /// Removes a waiter whose turn has not come. Does nothing if it has.
    mutating func leave(_ waiter: Waiter) {
        queues[waiter.origin]?.waiters[waiter.seat] = nil
    }

    /// Ends an active exchange. Returns those whose turn it is: they are active now.
    ///
    /// `usedHTTP2` is whether its response came over HTTP/2; `nil` if there was none.
    mutating func end(_ origin: UInt64, usedHTTP2: Bool? = nil) -> [Waiter] {
        var next: [Waiter] = []
        queues[origin, default: Queue()].end(usedHTTP2, atMost: most, into: &next)
        active += next.count - 1
        return next
    }

    /// Notes that an origin speaks HTTP/2. Returns those whose turn it is: they are active now.
    mutating func noteHTTP2(of origin: UInt64) -> [Waiter] {
        var next: [Waiter] = []
        queues[origin]?.note(true, atMost: most, into: &next)
        active += next.count
        return next
    }

    /// Removes all waiters.
    mutating func clear() -> [Waiter] {
        defer { for origin in queues.keys { queues[origin]?.waiters = [:] } }
        return queues.values.flatMap(\.waiters.values)
    }

    private mutating func sweep() {
        queues = queues.filter { $0.value.active > 0 || !$0.value.waiters.isEmpty }
        sweepsAt = max(1024, queues.count * 2)
    }
}
#endif
