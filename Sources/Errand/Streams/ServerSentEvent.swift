#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// An event of a server's event stream (`text/event-stream`).
public struct ServerSentEvent: Sendable, Hashable {
    /// The type of the event; `message` if the server names none.
    public var type: String
    /// The data; several lines of data are separated by line feeds.
    public var data: String
    /// The last identifier that the server has sent, with this event or before; empty if it has sent none.
    public var id: String

    /// Creates an event.
    public init(_ data: String, type: String = "message", id: String = "") {
        self.data = data
        self.type = type
        self.id = id
    }
}

/// Reads the events of a stream as the WHATWG HTML standard says (9.2.6), from pieces of any size.
struct EventStreamParser {
    private static let mark: [UInt8] = [0xEF, 0xBB, 0xBF]

    /// The greatest number of bytes in the lines of an event.
    private let limit: Int
    private var lines: LineSplitter
    private var isFirstLine = true
    private var type: [UInt8] = []
    private var data: [UInt8] = []
    private var nextID: String
    private var hasNextID = false
    /// The last identifier of an event that has ended, with which the stream is resumed.
    private(set) var lastID: String
    /// Whether an event of this connection has named the last identifier.
    private(set) var hasNamedID = false
    /// How long the server asks to wait before the stream is opened again; `nil` if it does not.
    private(set) var pause: Duration?

    init(limit: Int, lastID: String = "") {
        self.limit = limit
        self.lastID = lastID
        nextID = lastID
        lines = LineSplitter(limit: limit, splitsAtCarriageReturn: true)
    }

    /// Begins the stream of another connection. What has come of an event that did not end is dropped.
    mutating func restart() {
        lines = LineSplitter(limit: limit, splitsAtCarriageReturn: true)
        isFirstLine = true
        (type, data, nextID) = ([], [], lastID)
        (hasNextID, hasNamedID) = (false, false)
    }

    mutating func append(_ chunk: Data) {
        lines.append(chunk)
    }

    /// Returns the next event that is complete. Throws if one is too large.
    mutating func next() throws(ServiceError) -> ServerSentEvent? {
        while var line = try lines.next() {
            if isFirstLine, line.starts(with: Self.mark) { line = line.dropFirst(Self.mark.count) }
            isFirstLine = false
            guard line.isEmpty else {
                try read(line)
                continue
            }
            lastID = nextID
            hasNamedID = hasNextID
            defer { (type, data) = ([], []) }
            guard !data.isEmpty else { continue }
            return ServerSentEvent(
                String(decoding: data.dropLast(), as: UTF8.self),
                type: type.isEmpty ? "message" : String(decoding: type, as: UTF8.self), id: lastID)
        }
        return nil
    }

    private mutating func read(_ line: ArraySlice<UInt8>) throws(ServiceError) {
        let colon = line.firstIndex(of: UInt8(ascii: ":")) ?? line.endIndex
        var value = line[colon...].dropFirst()
        if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
        let name = line[..<colon]
        if name.elementsEqual("data".utf8) {
            guard data.count + value.count < limit else { throw .eventTooLong(limit) }
            data += value
            data.append(UInt8(ascii: "\n"))
        } else if name.elementsEqual("event".utf8) {
            type = Array(value)
        } else if name.elementsEqual("id".utf8) {
            if !value.contains(0) { (nextID, hasNextID) = (String(decoding: value, as: UTF8.self), true) }
        } else if name.elementsEqual("retry".utf8) {
            if !value.isEmpty, value.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) {
                pause = Int64(String(decoding: value, as: UTF8.self)).map { .milliseconds($0) } ?? pause
            }
        }
    }
}
