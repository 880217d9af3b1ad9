public import Errand
#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A request as a `LoopbackServer` received it, byte for byte.
public struct LoopbackRequest: Sendable {
    /// The method.
    public let method: HTTPMethod
    /// The path and the query, as in the request line.
    public let target: String
    /// The header fields.
    public let headers: HTTPHeaders
    /// The body, with its chunks joined; empty as long as only the head has arrived.
    public internal(set) var body = Data()
    /// The head as received, with all its line breaks.
    public let head: Data
    /// The number of the connection, from 1.
    public let connection: Int
    /// The number of the request on its connection, from 1.
    public let number: Int

    /// The path, as in the request line.
    public var path: String { String(target.prefix { $0 != "?" }) }
    /// The segments of the path, unescaped.
    public var segments: [String] { path.split(separator: "/").map(Self.unescaped) }
    /// The parameters of the query, unescaped.
    public var query: [QueryItems.Item] {
        guard let mark = target.firstIndex(of: "?") else { return [] }
        return target[target.index(after: mark)...].split(separator: "&").map { pair in
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return QueryItems.Item(
                name: Self.unescaped(parts[0]), value: parts.count > 1 ? Self.unescaped(parts[1]) : "")
        }
    }

    private static func unescaped(_ text: Substring) -> String {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
            {
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
