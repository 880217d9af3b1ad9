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
    /// The path and the query, as they stood in the first line.
    public let target: String
    /// The header fields.
    public let headers: HTTPHeaders
    /// The body, put together if it came in chunks.
    public let body: Data
    /// The head as it came, with all its line breaks.
    public let head: Data
    /// The number of the connection on which it came, from 1.
    public let connection: Int

    /// The path, as it stood in the first line.
    public var path: String { String(target.prefix { $0 != "?" }) }
    /// The segments of the path, unescaped.
    public var segments: [String] { path.split(separator: "/").map(Self.unescaped) }
    /// The parameters of the query, unescaped.
    public var query: [Query.Item] {
        guard let mark = target.firstIndex(of: "?") else { return [] }
        return target[target.index(after: mark)...].split(separator: "&").map { pair in
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return Query.Item(name: Self.unescaped(parts[0]), value: parts.count > 1 ? Self.unescaped(parts[1]) : "")
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

/// Reads requests from a connection, one after the other.
struct LoopbackReader {
    private static let largestHead = 1 << 20

    let socket: LoopbackSocket
    let connection: Int
    private var buffer: [UInt8] = []

    init(_ socket: LoopbackSocket, connection: Int) {
        self.socket = socket
        self.connection = connection
    }

    /// The next request; `nil` at the end of the connection, or if what comes is no request.
    mutating func next() -> LoopbackRequest? {
        guard let head = readHead() else { return nil }
        let lines = String(decoding: head, as: UTF8.self).split(separator: "\r\n")
        let words = lines.first?.split(separator: " ") ?? []
        guard words.count == 3 else { return nil }
        let fields = lines.dropFirst().compactMap { line -> HTTPHeaders.Field? in
            guard let colon = line.firstIndex(of: ":") else { return nil }
            let value = line[line.index(after: colon)...].drop { $0 == " " }
            return HTTPHeaders.Field(name: String(line[..<colon]), value: String(value))
        }
        let headers = HTTPHeaders(fields)
        if headers["Expect"] == "100-continue" { _ = socket.write("HTTP/1.1 100 Continue\r\n\r\n".utf8) }
        guard let body = readBody(headers) else { return nil }
        return LoopbackRequest(
            method: HTTPMethod(rawValue: String(words[0])), target: String(words[1]), headers: headers,
            body: Data(body),
            head: Data(head), connection: connection)
    }

    private mutating func readHead() -> [UInt8]? {
        var searched = 0
        while true {
            if let end = buffer[searched...].firstRange(of: [13, 10, 13, 10]) {
                defer { buffer.removeFirst(end.upperBound) }
                return Array(buffer[..<end.upperBound])
            }
            searched = max(0, buffer.count - 3)
            guard buffer.count < Self.largestHead, fill() else { return nil }
        }
    }

    private mutating func readBody(_ headers: HTTPHeaders) -> [UInt8]? {
        if headers["Transfer-Encoding"]?.hasSuffix("chunked") == true { return readChunks() }
        return read(headers["Content-Length"].flatMap { Int($0) } ?? 0)
    }

    private mutating func readChunks() -> [UInt8]? {
        var body: [UInt8] = []
        while let line = readLine() {
            guard let size = Int(line.prefix { $0 != ";" }, radix: 16), size >= 0 else { return nil }
            if size == 0 {
                while let trailer = readLine() {
                    if trailer.isEmpty { return body }
                }
                return nil
            }
            guard let chunk = read(size), readLine()?.isEmpty == true else { return nil }
            body += chunk
        }
        return nil
    }

    private mutating func readLine() -> String? {
        while true {
            if let end = buffer.firstRange(of: [13, 10]) {
                defer { buffer.removeFirst(end.upperBound) }
                return String(decoding: buffer[..<end.lowerBound], as: UTF8.self)
            }
            guard fill() else { return nil }
        }
    }

    private mutating func read(_ count: Int) -> [UInt8]? {
        while buffer.count < count {
            guard fill() else { return nil }
        }
        defer { buffer.removeFirst(count) }
        return Array(buffer[..<count])
    }

    private mutating func fill() -> Bool {
        let bytes = socket.read()
        buffer += bytes
        return !bytes.isEmpty
    }
}
