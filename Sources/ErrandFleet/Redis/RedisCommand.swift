import Errand

/// A command as it is sent: an array of texts.
struct RedisCommand: Sendable, Hashable {
    let bytes: [UInt8]

    init(_ words: [[UInt8]]) {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(words.reduce(16) { $0 + $1.count + 16 })
        bytes += "*\(words.count)\r\n".utf8
        for word in words {
            bytes += "$\(word.count)\r\n".utf8
            bytes += word
            bytes += [13, 10]
        }
        self.bytes = bytes
    }

    init(_ words: String...) {
        self.init(words.map { Array($0.utf8) })
    }

    static func greeting(_ credentials: RedisCredentials?) -> RedisCommand {
        guard let credentials else { return RedisCommand("HELLO", "3") }
        return RedisCommand("HELLO", "3", "AUTH", credentials.user, credentials.password)
    }

    static func select(_ database: Int) -> RedisCommand { RedisCommand("SELECT", "\(database)") }

    static func read(_ key: String) -> RedisCommand { RedisCommand("HMGET", key, "r", "b") }

    static func write(
        _ bytes: [UInt8]?, to key: String, replacing revision: FleetRevision?, in database: Int
    ) -> RedisCommand {
        let words = [
            "EVAL", RedisScript.write, "2", key, RedisScript.counter, revision.map { "\($0.number)" } ?? "",
            bytes == nil ? "-" : "=", RedisChange.channel(of: key, in: database),
        ]
        return RedisCommand(words.map { Array($0.utf8) } + [bytes ?? []])
    }

    static func subscribe(_ channel: String) -> RedisCommand { RedisCommand("SUBSCRIBE", channel) }
    static func unsubscribe(_ channel: String) -> RedisCommand { RedisCommand("UNSUBSCRIBE", channel) }
}

/// What Redis runs for a write.
enum RedisScript {
    /// The key of the last revision. No record can have it.
    static let counter = "errand:revisions"

    /// Compares the revision, writes or removes the record, and says so in the channel of its key. Redis runs nothing
    /// else in between.
    ///
    /// A revision is the time in microseconds, or one more than the last if that is not less. So none comes twice, even
    /// if the server has lost its last writes, or all of them. Lua counts in floating point, whose integers are exact
    /// up to 2^53: microseconds reach that in the year 2255. Redis refuses a script for a lack of memory only at its
    /// first write, and never for `DEL`, so the order of the writes matters.
    static let write = """
        local found = redis.call('HMGET', KEYS[1], 'r', 'b')
        if (found[1] or '') ~= ARGV[1] then return {0, found[1], found[2]} end
        if ARGV[1] == '' and ARGV[2] == '-' then return {1, ''} end
        local time = redis.call('TIME')
        local last = tonumber(redis.call('GET', KEYS[2]) or 0) or 0
        local number = math.max(time[1] * 1000000 + time[2], last + 1)
        if number >= 2^53 then return redis.error_reply('ERR errand:revisions is not a revision') end
        local revision = string.format('%.0f', number)
        if ARGV[2] == '-' then redis.call('DEL', KEYS[1]) end
        redis.call('SET', KEYS[2], revision)
        if ARGV[2] == '=' then redis.call('HSET', KEYS[1], 'r', revision, 'b', ARGV[4]) end
        redis.call('PUBLISH', ARGV[3], revision .. ARGV[2] .. ARGV[4])
        return {1, revision}
        """
}

/// A record as the commands return it.
enum RedisRecord {
    /// Reads the answer to `HMGET`: the revision, and the bytes.
    static func read(_ answer: RedisValue, of key: String) throws(FleetStoreError) -> FleetRecord? {
        guard case .list(let parts) = answer, parts.count == 2 else { throw damage(key) }
        return try read(parts[...], of: key)
    }

    /// Reads the answer of the script.
    static func written(
        _ answer: RedisValue, of key: String, isRemoval: Bool
    ) throws(FleetStoreError) -> FleetWrite {
        guard case .list(let parts) = answer else { throw damage(key) }
        if parts.count == 3, parts[0] == .number(0) { return .changed(try read(parts[1...], of: key)) }
        guard parts.count == 2, parts[0] == .number(1) else { throw damage(key) }
        if isRemoval { return .written(nil) }
        guard let revision = parts[1].bytes.flatMap({ revision($0[...]) }) else { throw damage(key) }
        return .written(revision)
    }

    private static func read(_ parts: ArraySlice<RedisValue>, of key: String) throws(FleetStoreError) -> FleetRecord? {
        let (number, bytes) = (parts[parts.startIndex], parts[parts.startIndex + 1])
        if number == .null, bytes == .null { return nil }
        guard let revision = number.bytes.flatMap({ revision($0[...]) }), let bytes = bytes.bytes,
            bytes.count <= FleetRecordRules.largestRecord
        else { throw damage(key) }
        return FleetRecord(bytes: bytes, revision: revision)
    }

    /// Reads a revision: digits, and nothing else.
    static func revision(_ digits: ArraySlice<UInt8>) -> FleetRevision? {
        guard (1...20).contains(digits.count),
            digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return nil }
        return UInt64(String(decoding: digits, as: UTF8.self)).map(FleetRevision.init)
    }

    static func damage(_ key: String) -> FleetStoreError {
        FleetStoreError(.damaged, "what Redis has under \(key) is no record; remove it to begin anew")
    }
}

/// A message about a change: the revision, `=` with the bytes that were written or `-` for a removal.
struct RedisChange: Equatable {
    let revision: FleetRevision
    /// The record; `nil` if it was removed.
    let record: FleetRecord?

    /// The channel of a key. Databases share all channels.
    static func channel(of key: String, in database: Int) -> String { "errand:\(database):\(key)" }

    /// Reads a message; `nil` if it is none.
    init?(_ message: [UInt8]) {
        let digits = message.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard let revision = RedisRecord.revision(digits), digits.count < message.count else { return nil }
        let bytes = message[(digits.count + 1)...]
        switch message[digits.count] {
        case UInt8(ascii: "=") where bytes.count <= FleetRecordRules.largestRecord:
            record = FleetRecord(bytes: Array(bytes), revision: revision)
        case UInt8(ascii: "-") where bytes.isEmpty: record = nil
        default: return nil
        }
        self.revision = revision
    }
}
