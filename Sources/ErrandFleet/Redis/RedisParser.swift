/// Reads values of RESP3 from bytes that arrive in any pieces.
///
/// Nothing that arrives is trusted: a line, a text, the number of elements and their nesting have limits, and no memory
/// is taken for what was only announced. The work is in proportion to the bytes. After an error the parser is useless,
/// because what follows has no known beginning.
struct RedisParser: Sendable {
    struct Limits: Sendable {
        /// The most bytes of a line, without its end. Errors, simple strings and numbers are lines.
        var line = 16 << 10
        /// The most bytes of a value: a record, its channel, and slack.
        var bytes = FleetRecordRules.largestRecord + 64 << 10
        /// The most elements of a value, with those inside of others. A greeting lists the modules of the server.
        var elements = 4096
        var depth = 8
    }

    private enum ListKind: Sendable { case list, map, push, attribute }
    private enum TextKind: Sendable { case text, error, verbatim }

    /// A list whose elements have not all arrived.
    private struct OpenList: Sendable {
        let kind: ListKind
        var missing: Int
        var elements: [RedisValue] = []
    }

    private enum Mode: Sendable {
        case line
        case text(TextKind, count: Int)
    }

    private static let lineEnd: [UInt8] = [13, 10]

    private let limits: Limits
    private var mode = Mode.line
    /// What has arrived of a line or of a text, with the line end.
    private var buffer: [UInt8] = []
    private var open: [OpenList] = []
    /// What the value of now may still have.
    private var bytesLeft, elementsLeft: Int

    init(_ limits: Limits = Limits()) {
        self.limits = limits
        (bytesLeft, elementsLeft) = (limits.bytes, limits.elements)
    }

    /// Reads more bytes, and returns the values that are complete.
    mutating func read(_ bytes: ArraySlice<UInt8>) throws(RedisDamage) -> [RedisValue] {
        var values: [RedisValue] = []
        var rest = bytes
        while !rest.isEmpty {
            let value =
                switch mode {
                case .line: try readLine(&rest)
                case .text(let kind, let count): try readText(kind, count, &rest)
                }
            if let value, let complete = put(value) { values.append(complete) }
        }
        return values
    }

    // MARK: Lines and texts

    private mutating func readLine(_ rest: inout ArraySlice<UInt8>) throws(RedisDamage) -> RedisValue? {
        let end = rest.firstIndex(of: 10)
        buffer += rest[..<(end.map { $0 + 1 } ?? rest.endIndex)]
        rest = end.map { rest[($0 + 1)...] } ?? []
        guard buffer.count <= limits.line + Self.lineEnd.count else { throw RedisDamage(reason: "a line is too long") }
        guard end != nil else { return nil }
        defer { buffer.removeAll(keepingCapacity: true) }
        guard buffer.suffix(2) == Self.lineEnd[...], let kind = buffer.first else {
            throw RedisDamage(reason: "a line does not end as it should")
        }
        let line = buffer.dropFirst().dropLast(2)
        bytesLeft -= line.count
        guard bytesLeft >= 0 else { throw RedisDamage(reason: "a value is too large") }
        return try value(kind, line)
    }

    private mutating func readText(
        _ kind: TextKind, _ count: Int, _ rest: inout ArraySlice<UInt8>
    ) throws(RedisDamage) -> RedisValue? {
        let piece = rest.prefix(count + Self.lineEnd.count - buffer.count)
        buffer += piece
        rest = rest.dropFirst(piece.count)
        guard buffer.count == count + Self.lineEnd.count else { return nil }
        guard buffer.suffix(2) == Self.lineEnd[...] else { throw RedisDamage(reason: "a text has another length") }
        var text = buffer
        (mode, buffer) = (.line, [])
        text.removeLast(2)
        switch kind {
        case .text: return .text(text)
        case .error: return .error(text)
        case .verbatim:
            // Three characters of a format, and a colon.
            guard text.count >= 4, text[3] == UInt8(ascii: ":") else {
                throw RedisDamage(reason: "a text has no format")
            }
            return .text(Array(text[4...]))
        }
    }

    /// Reads a line, which may be a value, or the beginning of one.
    private mutating func value(_ kind: UInt8, _ line: ArraySlice<UInt8>) throws(RedisDamage) -> RedisValue? {
        switch kind {
        case UInt8(ascii: "+"): return .text(Array(line))
        case UInt8(ascii: "-"): return .error(Array(line))
        case UInt8(ascii: ":"): return .number(try Self.number(line))
        case UInt8(ascii: "_") where line.isEmpty: return .null
        case UInt8(ascii: "#") where line.elementsEqual("t".utf8): return .boolean(true)
        case UInt8(ascii: "#") where line.elementsEqual("f".utf8): return .boolean(false)
        case UInt8(ascii: ",") where Double(String(decoding: line, as: UTF8.self)) != nil: return .text(Array(line))
        case UInt8(ascii: "(") where Self.isInteger(line): return .text(Array(line))
        case UInt8(ascii: "$"): return try begin(.text, line)
        case UInt8(ascii: "!"): return try begin(.error, line)
        case UInt8(ascii: "="): return try begin(.verbatim, line)
        case UInt8(ascii: "*"), UInt8(ascii: "~"): return try begin(.list, line)
        case UInt8(ascii: "%"): return try begin(.map, line)
        case UInt8(ascii: "|"): return try begin(.attribute, line)
        case UInt8(ascii: ">"): return try begin(.push, line)
        default: throw RedisDamage(reason: "a line is no value")
        }
    }

    private mutating func begin(_ kind: TextKind, _ line: ArraySlice<UInt8>) throws(RedisDamage) -> RedisValue? {
        guard let count = try count(line) else { return .null }
        guard count <= bytesLeft else { throw RedisDamage(reason: "a value is too large") }
        bytesLeft -= count
        mode = .text(kind, count: count)
        return nil
    }

    private mutating func begin(_ kind: ListKind, _ line: ArraySlice<UInt8>) throws(RedisDamage) -> RedisValue? {
        guard let announced = try count(line) else { return .null }
        let each = kind == .map || kind == .attribute ? 2 : 1
        guard announced <= elementsLeft / each, open.count < limits.depth else {
            throw RedisDamage(reason: "a value has too many elements")
        }
        let count = each * announced
        elementsLeft -= count
        guard kind != .push || open.isEmpty else { throw RedisDamage(reason: "a message is inside of a value") }
        guard count > 0 else { return kind == .attribute ? nil : Self.list(kind, []) }
        open.append(OpenList(kind: kind, missing: count))
        return nil
    }

    /// Returns a length; `nil` for -1, with which RESP2 says that there is nothing.
    private func count(_ line: ArraySlice<UInt8>) throws(RedisDamage) -> Int? {
        let number = try Self.number(line)
        if number == -1 { return nil }
        guard let count = Int(exactly: number), count >= 0 else { throw RedisDamage(reason: "a length is negative") }
        return count
    }

    private static func isInteger(_ line: ArraySlice<UInt8>) -> Bool {
        let sign: [UInt8] = [UInt8(ascii: "-"), UInt8(ascii: "+")]
        let digits = line.first.map(sign.contains) == true ? line.dropFirst() : line
        return !digits.isEmpty && digits.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }

    private static func number(_ line: ArraySlice<UInt8>) throws(RedisDamage) -> Int64 {
        guard isInteger(line), let number = Int64(String(decoding: line, as: UTF8.self)) else {
            throw RedisDamage(reason: "a line is no number")
        }
        return number
    }

    // MARK: Lists

    /// Puts a complete value into the list it belongs to. Returns the value that it completes, if that is in no list.
    private mutating func put(_ value: RedisValue) -> RedisValue? {
        var value = value
        while var list = open.popLast() {
            list.elements.append(value)
            list.missing -= 1
            guard list.missing == 0 else {
                open.append(list)
                return nil
            }
            // What is said about the next value is of no interest; that value comes in the place of both.
            if list.kind == .attribute { return nil }
            value = Self.list(list.kind, list.elements)
        }
        (bytesLeft, elementsLeft) = (limits.bytes, limits.elements)
        return value
    }

    private static func list(_ kind: ListKind, _ elements: [RedisValue]) -> RedisValue {
        switch kind {
        case .list: .list(elements)
        case .push: .push(elements)
        case .map, .attribute: .map(elements)
        }
    }
}
