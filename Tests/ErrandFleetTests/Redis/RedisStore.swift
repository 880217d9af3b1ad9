#if os(Linux)
import Errand
import ErrandFleet
import Foundation

/// A store in Redis, as an example of another engine: a hash of a revision and the bytes under each key, a counter for
/// the revisions, and a script for each write, which Redis runs alone. A watch asks again and again.
struct RedisStore: FleetStore {
    private static let script = """
        local now = redis.call('HGET', KEYS[1], 'r')
        if (now or '') ~= ARGV[1] then return {0, now or '', redis.call('HGET', KEYS[1], 'b') or ''} end
        if ARGV[2] == 'remove' then redis.call('DEL', KEYS[1]) return {1, '', ''} end
        local next = redis.call('INCR', 'revisions')
        redis.call('HSET', KEYS[1], 'r', next, 'b', ARGV[3])
        return {1, tostring(next), ''}
        """

    let port: Int

    func read(_ key: String) async throws(FleetStoreError) -> FleetRecord? {
        try check(key, nil)
        let answer = try await call(["HMGET", key, "r", "b"])
        guard case .list(let parts) = answer, case .text(let number) = parts[0], case .text(let bytes) = parts[1] else {
            return nil
        }
        return record(number, bytes)
    }

    func write(
        _ bytes: [UInt8]?, to key: String, replacing revision: FleetRevision?
    ) async throws(FleetStoreError) -> FleetWrite {
        try check(key, bytes)
        let known = revision.map { "\($0.number)" } ?? ""
        let answer = try await call(
            [
                ["EVAL", Self.script, "1", key, known, bytes == nil ? "remove" : "put"].map { Array($0.utf8) },
                [bytes ?? []],
            ]
            .flatMap { $0 })
        guard case .list(let parts) = answer, parts.count == 3, case .text(let number) = parts[1],
            case .text(let found) = parts[2]
        else { throw FleetStoreError(.damaged, "\(answer)") }
        guard case .number(1) = parts[0] else { return .changed(record(number, found)) }
        return .written(record(number, found)?.revision)
    }

    func changes(of key: String) -> AsyncThrowingStream<FleetRecord?, any Error> {
        RecordStream.following { pass throws(FleetStoreError) in
            var last: FleetRecord??
            while true {
                let record = try await read(key)
                if last != .some(record) { pass(record) }
                last = .some(record)
                do { try await Task.sleep(for: .milliseconds(10)) } catch { throw .cancelled }
            }
        }
    }

    private func check(_ key: String, _ bytes: [UInt8]?) throws(FleetStoreError) {
        try FleetRecordRules.check(key, bytes)
        if Task.isCancelled { throw .cancelled }
    }

    private func record(_ number: [UInt8], _ bytes: [UInt8]) -> FleetRecord? {
        UInt64(String(decoding: number, as: UTF8.self)).map { FleetRecord(bytes: bytes, revision: FleetRevision($0)) }
    }

    // MARK: The protocol

    private enum Answer {
        case text([UInt8])
        case number(Int)
        case list([Answer])
        case none
    }

    private func call(_ words: [String]) async throws(FleetStoreError) -> Answer {
        try await call(words.map { Array($0.utf8) })
    }

    private func call(_ words: [[UInt8]]) async throws(FleetStoreError) -> Answer {
        var request = Array("*\(words.count)\r\n".utf8)
        for word in words { request += Array("$\(word.count)\r\n".utf8) + word + [13, 10] }
        let outcome: Answer? = await withCheckedContinuation { continuation in
            Thread.detachNewThread { [request] in continuation.resume(returning: Self.exchange(request, port: port)) }
        }
        guard let outcome else { throw FleetStoreError(.unreachable, "Redis does not answer") }
        return outcome
    }

    private static func exchange(_ request: [UInt8], port: Int) -> Answer? {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let isOpen = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isOpen else { return nil }
        var sent = 0
        while sent < request.count {
            let count = request[sent...].withUnsafeBytes { bytes in
                send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return nil }
            sent += count
        }
        var reader = Reader(descriptor: descriptor)
        return reader.answer()
    }

    private struct Reader {
        let descriptor: Int32
        var buffer: ArraySlice<UInt8> = []

        mutating func answer() -> Answer? {
            guard let line = line(), let kind = line.first else { return nil }
            let number = Int(String(decoding: line.dropFirst(), as: UTF8.self)) ?? 0
            switch kind {
            case UInt8(ascii: ":"): return .number(number)
            case UInt8(ascii: "$"):
                guard number >= 0 else { return Answer.none }
                while buffer.count < number + 2 { guard fill() else { return nil } }
                defer { buffer = buffer.dropFirst(number + 2) }
                return .text(Array(buffer.prefix(number)))
            case UInt8(ascii: "*"):
                var list: [Answer] = []
                for _ in 0..<max(0, number) {
                    guard let element = answer() else { return nil }
                    list.append(element)
                }
                return .list(list)
            default: return .text(Array(line))
            }
        }

        private mutating func line() -> [UInt8]? {
            while true {
                if let end = buffer.firstIndex(of: 13), buffer.endIndex > end + 1 {
                    defer { buffer = buffer[(end + 2)...] }
                    return Array(buffer[..<end])
                }
                guard fill() else { return nil }
            }
        }

        private mutating func fill() -> Bool {
            var chunk = [UInt8](repeating: 0, count: 1 << 16)
            let count = recv(descriptor, &chunk, chunk.count, 0)
            guard count > 0 else { return false }
            buffer = ArraySlice(Array(buffer) + chunk.prefix(count))
            return true
        }
    }
}
#endif
