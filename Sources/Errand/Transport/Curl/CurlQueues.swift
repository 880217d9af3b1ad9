#if os(Linux)
/// Who may send to which origin: so many exchanges of a client at once, and behind them a queue in which each waits for
/// its turn. Clients that share a transport do not wait for each other: one may have streams that it does not read.
///
/// An exchange that waits has no handle, no connection and nothing prepared: ten thousand at once cost their tasks and
/// little else. An exchange that ends hands its place to the first in the queue, so none overtakes. Over HTTP/1.1
/// each has a connection of its own; over HTTP/2 and HTTP/3 they are streams of one, and more of them make sense. Which
/// of the two an origin has shows with the last connection to it, or with the last response.
struct CurlQueues {
    /// One client's requests to one origin. Requests without a client are those of one more.
    struct Key: Hashable, Sendable {
        let origin: UInt64
        let client: TransportContext.Client?
    }

    /// An exchange in a queue.
    final class Waiter: Sendable {
        let key: Key
        fileprivate let number: Int
        /// Completes when it is the waiter's turn.
        let turn = Promise<Void, ServiceError>()

        fileprivate init(_ number: Int, of key: Key) {
            self.key = key
            self.number = number
        }
    }

    /// The greatest number of a client's active exchanges with an origin.
    private typealias Most = (connections: Int, streams: Int)

    private struct Queue {
        var active = 0
        var hasStreams = false
        /// By their numbers. A number that was left in the middle takes no memory, however long the first ones wait.
        var waiters: [Int: Waiter] = [:]
        /// No waiter has a lower number than the first of these, and the next one gets the second.
        var (first, end) = (0, 0)

        /// Makes one more exchange active, unless there are `most` already.
        mutating func admit(atMost most: Most) -> Bool {
            guard active < (hasStreams ? most.streams : most.connections) else { return false }
            active += 1
            return true
        }

        mutating func join(_ key: Key) -> Waiter {
            let waiter = Waiter(end, of: key)
            waiters[end] = waiter
            end += 1
            return waiter
        }

        /// Removes the waiter, unless it has left the queue before, or was in one that is forgotten.
        mutating func remove(_ waiter: Waiter) {
            if waiters[waiter.number] === waiter { waiters[waiter.number] = nil }
        }

        /// Ends an active exchange, and adds those whose turn it is.
        mutating func end(_ hasStreams: Bool?, atMost most: Most, into next: inout [Waiter]) {
            active -= 1
            note(hasStreams, atMost: most, into: &next)
        }

        /// Notes whether the origin has streams, if that is known, and adds those whose turn it is.
        mutating func note(_ hasStreams: Bool?, atMost most: Most, into next: inout [Waiter]) {
            if let hasStreams { self.hasStreams = hasStreams }
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
    private var queues: [Key: Queue] = [:]
    /// The origins whose requests are streams: a client that comes later uses the connection of another.
    private var streaming: Set<UInt64> = []
    /// At this number of queues, those that are not used are forgotten.
    private var sweepsAt = 1024
    /// The number of exchanges that are active, of all queues.
    private(set) var active = 0

    /// Creates queues with at most so many active exchanges each over HTTP/1.1, and as streams.
    init(connections: Int, streams: Int) {
        most = (max(1, connections), max(1, streams))
    }

    /// The number of queues.
    var count: Int { queues.count }
    /// The number of exchanges that wait, in all queues.
    var waiting: Int { queues.values.reduce(0) { $0 + $1.waiters.count } }

    /// Makes an exchange active if there is a place for it.
    mutating func enter(_ key: Key) -> Bool {
        if queues.count >= sweepsAt { sweep() }
        let new = queue(to: key.origin)
        guard queues[key, default: new].admit(atMost: most) else { return false }
        active += 1
        return true
    }

    /// Makes an exchange active, or adds a waiter who will be.
    mutating func join(_ key: Key) -> Waiter? {
        guard !enter(key) else { return nil }
        // It is there, because there was no place.
        return queues[key, default: Queue()].join(key)
    }

    /// Removes a waiter whose turn has not come. Does nothing if it has.
    mutating func leave(_ waiter: Waiter) {
        queues[waiter.key]?.remove(waiter)
    }

    /// Ends an active exchange. Returns those whose turn it is: they are active now.
    ///
    /// `hasStreams` is whether its request was a stream; `nil` if there was none.
    mutating func end(_ key: Key, hasStreams: Bool? = nil) -> [Waiter] {
        var next: [Waiter] = []
        if let hasStreams { note(hasStreams, of: key.origin) }
        queues[key, default: Queue()].end(hasStreams, atMost: most, into: &next)
        active += next.count - 1
        return next
    }

    /// Notes that an origin has streams. Returns those whose turn it is: they are active now.
    mutating func noteStreams(of origin: UInt64) -> [Waiter] {
        var next: [Waiter] = []
        note(true, of: origin)
        for key in queues.keys.filter({ $0.origin == origin }) { queues[key]?.note(true, atMost: most, into: &next) }
        active += next.count
        return next
    }

    /// Removes all waiters.
    mutating func clear() -> [Waiter] {
        defer { for key in queues.keys { queues[key]?.waiters = [:] } }
        return queues.values.flatMap(\.waiters.values)
    }

    private func queue(to origin: UInt64) -> Queue {
        var queue = Queue()
        queue.hasStreams = streaming.contains(origin)
        return queue
    }

    private mutating func note(_ hasStreams: Bool, of origin: UInt64) {
        guard hasStreams != streaming.contains(origin) else { return }
        if hasStreams { streaming.insert(origin) } else { streaming.remove(origin) }
    }

    private mutating func sweep() {
        queues = queues.filter { $0.value.active > 0 || !$0.value.waiters.isEmpty }
        streaming.formIntersection(queues.keys.map(\.origin))
        sweepsAt = max(1024, queues.count * 2)
    }
}
#endif
