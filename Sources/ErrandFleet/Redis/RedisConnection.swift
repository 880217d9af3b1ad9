import Errand

/// A connection to a server, on the thread of its store.
final class RedisConnection {
    /// Why the connection has ended.
    struct Problem {
        /// The system's words; `nil` if the server has closed it.
        let words: String?
    }

    /// How much is read before something is written again.
    private static let readSize = 64 << 10

    let stream: any RedisStream
    let start: Instant
    var exchange: RedisExchange
    private var parser = RedisParser()
    /// Whether more may have arrived than was read.
    private(set) var hasMore = false
    private(set) var problem: Problem?

    init(_ stream: any RedisStream, _ exchange: RedisExchange, at now: Instant) {
        self.stream = stream
        self.exchange = exchange
        start = now
    }

    /// Whether there is something to write.
    var isWriting: Bool { !exchange.unwritten.isEmpty || stream.hasUnwritten }

    /// Ends a watch, whose task has ended.
    func end(_ watch: RedisWatch, at now: Instant) {
        exchange.end(watch, at: now)
    }

    /// Writes what there is to write. Returns why the connection has ended, if it has.
    func write(at now: Instant) -> Problem? {
        while isWriting {
            switch stream.write(exchange.unwritten) {
            case .bytes(let count): exchange.noteWritten(count, at: now)
            case .ended(let words): return Problem(words: words)
            case .blocked: return nil
            }
        }
        return nil
    }

    /// Reads some of what has arrived, and notes it if the connection has ended.
    func read() throws(RedisDamage) -> [RedisValue] {
        var bytes: [UInt8] = []
        switch stream.read(into: &bytes, upTo: Self.readSize) {
        case .bytes: hasMore = true
        case .blocked: hasMore = false
        case .ended(let words): problem = Problem(words: words)
        }
        return try parser.read(bytes[...])
    }
}
