import Errand
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Reads requests from a connection, one after the other: first the head, then the body.
struct LoopbackReader {
    private enum Framing {
        case none
        case length(Int)
        case chunks
    }

    private static let largestHead = 1 << 20

    private let socket: LoopbackSocket
    private let connection: Int
    private var requests = 0
    /// The received bytes. Those before `position` have been read; they are removed only when more bytes are needed, so
    /// that no byte is moved again and again.
    private var buffer: [UInt8] = []
    private var position = 0
    /// The framing of the rest of the current request.
    private var rest = Framing.none

    init(_ socket: LoopbackSocket, connection: Int) {
        self.socket = socket
        self.connection = connection
    }

    /// Returns the head of the next request; `nil` at the end of the connection, or if the bytes are not a request.
    mutating func nextHead() -> LoopbackRequest? {
        guard let head = take(through: [13, 10, 13, 10], atMost: Self.largestHead) else { return nil }
        let lines = String(decoding: head, as: UTF8.self).split(separator: "\r\n")
        let words = lines.first?.split(separator: " ") ?? []
        guard words.count == 3 else { return nil }
        let fields = lines.dropFirst().compactMap { line -> HTTPHeaders.Field? in
            guard let colon = line.firstIndex(of: ":") else { return nil }
            let value = line[line.index(after: colon)...].drop { $0 == " " }
            return HTTPHeaders.Field(name: String(line[..<colon]), value: String(value))
        }
        let headers = HTTPHeaders(fields)
        guard let framing = Self.framing(of: headers) else { return nil }
        rest = framing
        requests += 1
        return LoopbackRequest(
            method: HTTPMethod(rawValue: String(words[0])), target: String(words[1]), headers: headers,
            head: Data(head), connection: connection, number: requests)
    }

    /// Returns the body of the current request, with its chunks joined; `nil` if it breaks off or is malformed.
    mutating func readBody() -> Data? {
        defer { rest = .none }
        switch rest {
        case .none: return Data()
        case .length(let length): return read(length)
        case .chunks: return readChunks()
        }
    }

    private static func framing(of headers: HTTPHeaders) -> Framing? {
        if let coding = headers["Transfer-Encoding"] { return coding.hasSuffix("chunked") ? .chunks : nil }
        guard let text = headers["Content-Length"] else { return Framing.none }
        guard let length = Int(text), length >= 0 else { return nil }
        return .length(length)
    }

    private mutating func readChunks() -> Data? {
        var body = Data()
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
        take(through: [13, 10], atMost: Self.largestHead).map { String(decoding: $0.dropLast(2), as: UTF8.self) }
    }

    /// Returns the bytes up to and including a mark.
    private mutating func take(through mark: [UInt8], atMost limit: Int) -> [UInt8]? {
        var searched = position
        while true {
            if let end = buffer[searched...].firstRange(of: mark) {
                defer { position = end.upperBound }
                return Array(buffer[position..<end.upperBound])
            }
            guard buffer.count - position < limit else { return nil }
            let waiting = buffer.count - position
            guard fill() else { return nil }
            searched = position + max(0, waiting - mark.count + 1)
        }
    }

    private mutating func read(_ count: Int) -> Data? {
        let here = buffer[position...].prefix(count)
        var data = Data(here)
        position += here.count
        while data.count < count {
            let bytes = socket.read(upTo: min(count - data.count, 65_536))
            guard !bytes.isEmpty else { return nil }
            data += bytes
        }
        return data
    }

    private mutating func fill() -> Bool {
        let bytes = socket.read()
        buffer.removeFirst(position)
        position = 0
        buffer += bytes
        return !bytes.isEmpty
    }
}
