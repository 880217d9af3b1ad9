/// A value of RESP3, the protocol of Redis 6 and later.
enum RedisValue: Sendable, Hashable {
    /// A simple string, a bulk string, a verbatim string without its format, a double or a big number.
    case text([UInt8])
    /// An error, simple or bulk.
    case error([UInt8])
    case number(Int64)
    case boolean(Bool)
    case null
    /// An array or a set.
    case list([RedisValue])
    /// The keys and values of a map, one after the other.
    case map([RedisValue])
    /// What the server sends without being asked.
    case push([RedisValue])

    /// The bytes of a text.
    var bytes: [UInt8]? {
        guard case .text(let bytes) = self else { return nil }
        return bytes
    }

    /// The text, as far as it is UTF-8.
    var text: String? { bytes.map { String(decoding: $0, as: UTF8.self) } }

    /// The value of a map under that key.
    subscript(key: String) -> RedisValue? {
        guard case .map(let elements) = self else { return nil }
        return stride(from: 0, to: elements.count - 1, by: 2).first { elements[$0].text == key }
            .map { elements[$0 + 1] }
    }
}

/// Bytes that are not RESP3, or more than the store ever asks for.
struct RedisDamage: Error, Hashable {
    let reason: String
}
