import ErrandJSON
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

    /// Returns the data as a value, for a stream whose events have several types of data.
    ///
    ///     for try await event in client.events(.get("feed")) {
    ///         if event.type == "user" { show(try event.decode(as: User.self).name) }
    ///     }
    ///
    /// Data that does not match is `.decodingFailed`, whose text masks values with well-known secret names. If all
    /// events have the same data, use ``APIClient/events(_:of:after:)``, which decodes with the client's decoder and
    /// knows ``Configuration/secretNames``.
    ///
    /// - Parameters:
    ///   - type: The type of the value.
    ///   - decoder: The decoder, a ``FastJSONDecoder`` by default.
    public func decode<Value: Decodable>(
        as type: Value.Type = Value.self, by decoder: any ResponseDecoder = FastJSONDecoder()
    ) throws(ServiceError) -> Value {
        let data = Data(data.utf8)
        do {
            return try decoder.decode(type, from: data, below: [])
        } catch {
            throw ServiceError(error) { .decodingFailed(DecodingFailure($0, decoding: type, from: data)) }
        }
    }

    /// Returns whether the types, the data and the identifiers are equal, byte by byte.
    public static func == (left: ServerSentEvent, right: ServerSentEvent) -> Bool {
        left.type == right.type && left.data == right.data && left.id == right.id
    }

    /// Hashes what `==` compares.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(bytesOf: type)
        hasher.combine(bytesOf: data)
        hasher.combine(bytesOf: id)
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
    /// The length of the last line.
    private(set) var lastLength = 0
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

    /// What one more line has brought.
    enum Step {
        case event(ServerSentEvent)
        /// A part of an event, or a comment.
        case line
        /// There is no other line: more bytes are needed.
        case end
    }

    /// Reads the next line that is complete. Throws if an event is too large.
    mutating func step() throws(ServiceError) -> Step {
        guard var line = try lines.next() else { return .end }
        lastLength = line.count
        if isFirstLine, line.starts(with: Self.mark) { line = line.dropFirst(Self.mark.count) }
        isFirstLine = false
        guard line.isEmpty else {
            try read(line)
            return .line
        }
        lastID = nextID
        hasNamedID = hasNextID
        defer { (type, data) = ([], []) }
        guard !data.isEmpty else { return .line }
        return .event(
            ServerSentEvent(
                Self.text(data.dropLast()), type: type.isEmpty ? "message" : Self.text(type[...]), id: lastID))
    }

    /// Returns the next event that is complete. Throws if one is too large.
    mutating func next() throws(ServiceError) -> ServerSentEvent? {
        while true {
            switch try step() {
            case .event(let event): return event
            case .line: continue
            case .end: return nil
            }
        }
    }

    /// Readers compare the texts of events, so their marks are in order.
    private static func text(_ bytes: ArraySlice<UInt8>) -> String {
        CombiningMarks.sorted(String(decoding: bytes, as: UTF8.self))
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
            if !value.contains(0) { (nextID, hasNextID) = (Self.text(value), true) }
        } else if name.elementsEqual("retry".utf8) {
            if !value.isEmpty, value.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) {
                pause = Int64(String(decoding: value, as: UTF8.self)).map { .milliseconds($0) } ?? pause
            }
        }
    }
}
