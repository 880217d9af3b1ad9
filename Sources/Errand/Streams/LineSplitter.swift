#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Splits bytes, which arrive in pieces of any size, into lines.
struct LineSplitter {
    /// The bytes that end a line: LF and CRLF always, and a CR by itself where the format has it.
    private let splitsAtCarriageReturn: Bool
    /// The greatest number of bytes in a line.
    private let limit: Int
    private var bytes: [UInt8] = []
    /// Where the current line begins.
    private var start = 0
    /// How far the current line has been searched for its end.
    private var searched = 0
    /// Whether the last line ended with a CR, so that an LF that follows belongs to it.
    private var skipsLineFeed = false

    init(limit: Int, splitsAtCarriageReturn: Bool = false) {
        self.limit = limit
        self.splitsAtCarriageReturn = splitsAtCarriageReturn
    }

    mutating func append(_ chunk: Data) {
        bytes.removeFirst(start)
        searched -= start
        start = 0
        bytes.append(contentsOf: chunk)
    }

    /// Returns the next line that is complete, without its end. Throws if it is, or will be, longer than the limit.
    mutating func next() throws(ServiceError) -> ArraySlice<UInt8>? {
        if skipsLineFeed, start < bytes.count {
            if bytes[start] == UInt8(ascii: "\n") { start += 1 }
            searched = max(searched, start)
            skipsLineFeed = false
        }
        guard let end = end() else {
            searched = bytes.count
            guard bytes.count - start <= limit else { throw .lineTooLong(limit) }
            return nil
        }
        guard end - start <= limit else { throw .lineTooLong(limit) }
        var line = bytes[start..<end]
        if bytes[end] == UInt8(ascii: "\r") {
            skipsLineFeed = true
        } else if !splitsAtCarriageReturn, line.last == UInt8(ascii: "\r") {
            line.removeLast()
        }
        start = end + 1
        searched = start
        return line
    }

    /// Returns what follows the last line end; `nil` if nothing does.
    func rest() -> ArraySlice<UInt8>? {
        start < bytes.count ? bytes[start...] : nil
    }

    private func end() -> Int? {
        bytes.withUnsafeBufferPointer { bytes in
            for index in searched..<bytes.count {
                let byte = bytes[index]
                if byte == UInt8(ascii: "\n") || (splitsAtCarriageReturn && byte == UInt8(ascii: "\r")) { return index }
            }
            return nil
        }
    }
}

extension ServiceError {
    private static func tooLong(_ what: String, _ limit: Int) -> ServiceError {
        .transport(TransportFailure(.tooLarge, "\(what) of the response is longer than the limit of \(limit) bytes"))
    }

    fileprivate static func lineTooLong(_ limit: Int) -> ServiceError { tooLong("a line", limit) }
    static func eventTooLong(_ limit: Int) -> ServiceError { tooLong("an event", limit) }
}
