/// The reason why the parser stops; it stops where it is.
struct JSONStop: Error {
    let reason: JSONFault.Reason

    init(_ reason: JSONFault.Reason) { self.reason = reason }
}

/// The scanners of the parser: each begins at a token, and moves behind it.
enum JSONScan {
    @inline(__always)
    static func skipSpace(_ p: inout UnsafePointer<UInt8>, _ end: UnsafePointer<UInt8>) {
        // The bits are those of tab, newline, return and space.
        while p < end, p.pointee <= 0x20, 0x1_0000_2600 >> UInt64(p.pointee) & 1 == 1 { p += 1 }
    }

    /// Skips space, and returns the byte behind it.
    @inline(__always)
    static func next(_ p: inout UnsafePointer<UInt8>, _ end: UnsafePointer<UInt8>) throws(JSONStop) -> UInt8 {
        skipSpace(&p, end)
        guard p < end else { throw JSONStop(.unexpectedEnd) }
        return p.pointee
    }

    static func word(
        _ word: StaticString, _ p: inout UnsafePointer<UInt8>, _ end: UnsafePointer<UInt8>
    ) throws(JSONStop) {
        for index in 0..<word.utf8CodeUnitCount {
            guard p < end else { throw JSONStop(.unexpectedEnd) }
            guard p.pointee == word.utf8Start[index] else { throw JSONStop(.unexpectedCharacter) }
            p += 1
        }
    }

    @inline(__always)
    static func number(
        _ p: inout UnsafePointer<UInt8>, _ end: UnsafePointer<UInt8>, from start: UnsafePointer<UInt8>
    ) throws(JSONStop) -> JSONEntry {
        let first = p
        repeat { p += 1 } while p < end && p.pointee &- UInt8(ascii: "0") < 10
        var kind = JSONEntry.Kind.integer
        if p < end, isInNumber(p.pointee) {
            kind = .number
            repeat { p += 1 } while p < end && (p.pointee &- UInt8(ascii: "0") < 10 || isInNumber(p.pointee))
        }
        guard p - first < JSONEntry.greatestLength else { throw JSONStop(.tooLarge) }
        return JSONEntry(kind, length: p - first, place: first - start)
    }

    @inline(__always)
    private static func isInNumber(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E"), UInt8(ascii: "-"), UInt8(ascii: "+"): true
        default: false
        }
    }

    /// Begins at the opening quote.
    @inline(__always)
    static func text(
        _ p: inout UnsafePointer<UInt8>, _ end: UnsafePointer<UInt8>, from start: UnsafePointer<UInt8>
    ) throws(JSONStop) -> JSONEntry {
        p += 1
        let first = p
        var bits: UInt64 = 0
        skipPlain(&p, end, &bits)
        guard p < end else { throw JSONStop(.unexpectedEnd) }
        var kind = bits & 0x8080_8080_8080_8080 == 0 ? JSONEntry.Kind.ascii : .unicode
        if p.pointee != UInt8(ascii: "\"") {
            try skipEscaped(&p, end)
            kind = .escaped
        }
        guard p - first < JSONEntry.greatestLength else { throw JSONStop(.tooLarge) }
        let entry = JSONEntry(kind, length: p - first, place: first - start)
        p += 1
        return entry
    }

    /// Moves to the next quote, backslash or control character, eight bytes at a time, and collects the bits of the
    /// bytes before it.
    @inline(__always)
    private static func skipPlain(_ p: inout UnsafePointer<UInt8>, _ end: UnsafePointer<UInt8>, _ bits: inout UInt64) {
        while end - p >= 8 {
            let word = UInt64(littleEndian: UnsafeRawPointer(p).loadUnaligned(as: UInt64.self))
            let quote = word ^ 0x2222_2222_2222_2222
            let backslash = word ^ 0x5C5C_5C5C_5C5C_5C5C
            // Subtracting borrows from the highest bit of a byte that is too small. Borrows go upwards, so the lowest
            // of these bits is right.
            let stops =
                ((quote &- 0x0101_0101_0101_0101) & ~quote | (backslash &- 0x0101_0101_0101_0101) & ~backslash
                    | (word &- 0x2020_2020_2020_2020) & ~word) & 0x8080_8080_8080_8080
            guard stops == 0 else {
                bits |= word & ((stops & (0 &- stops)) &- 1)
                p += stops.trailingZeroBitCount >> 3
                return
            }
            bits |= word
            p += 8
        }
        while p < end {
            let byte = p.pointee
            guard byte >= 0x20, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") else { return }
            bits |= UInt64(byte)
            p += 1
        }
    }

    /// Moves to the closing quote of a text with escape sequences or control characters.
    @inline(never)
    private static func skipEscaped(_ p: inout UnsafePointer<UInt8>, _ end: UnsafePointer<UInt8>) throws(JSONStop) {
        var bits: UInt64 = 0
        while p < end {
            switch p.pointee {
            case UInt8(ascii: "\""): return
            case UInt8(ascii: "\\"):
                guard end - p >= 2 else { throw JSONStop(.unexpectedEnd) }
                let isUnicode = p[1] == UInt8(ascii: "u")
                p += 2
                guard isUnicode else { break }
                guard end - p >= 4 else { throw JSONStop(.unexpectedEnd) }
                for index in 0..<4 where p[index] == UInt8(ascii: "\"") { throw JSONStop(.malformedText) }
                p += 4
            default: p += 1
            }
            skipPlain(&p, end, &bits)
        }
        throw JSONStop(.unexpectedEnd)
    }
}
