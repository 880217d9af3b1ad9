extension String {
    /// Creates the string that a text in JSON stands for, without its quotes.
    @inline(__always)
    init(json bytes: UnsafeBufferPointer<UInt8>, _ kind: JSONEntry.Kind) throws(JSONMisfit) {
        if kind == .ascii {
            self = String(decoding: bytes, as: UTF8.self)
        } else {
            self = try JSONText.string(bytes, kind)
        }
    }
}

/// The text of a JSON string.
enum JSONText {
    @inline(never)
    fileprivate static func string(
        _ bytes: UnsafeBufferPointer<UInt8>, _ kind: JSONEntry.Kind
    ) throws(JSONMisfit) -> String {
        let text: String?
        if kind == .escaped {
            // What an escape sequence stands for is never longer than the sequence. Eight bytes are written at once.
            text = withUnsafeTemporaryAllocation(of: UInt8.self, capacity: bytes.count + 8) { buffer in
                unescape(bytes, into: buffer).flatMap { valid(UnsafeBufferPointer(rebasing: buffer[..<$0])) }
            }
        } else {
            text = valid(bytes)
        }
        guard let text else { throw .fault(.malformedText) }
        return CombiningMarks.sorted(text)
    }

    /// Returns the text in UTF-8; `nil` if it is malformed.
    private static func valid(_ bytes: UnsafeBufferPointer<UInt8>) -> String? {
        // The initializer that fails is not specialized for buffers of bytes, and several times slower. This one
        // repairs what is malformed, and that shows.
        var text = String(decoding: bytes, as: UTF8.self)
        return text.withUTF8 { $0.count == bytes.count && $0.hasSameBytes(as: bytes) } ? text : nil
    }

    /// Copies the text without its escape sequences, and returns its length; `nil` if it is malformed.
    fileprivate static func unescape(
        _ bytes: UnsafeBufferPointer<UInt8>, into buffer: UnsafeMutableBufferPointer<UInt8>
    ) -> Int? {
        guard var p = bytes.baseAddress, let start = buffer.baseAddress else { return 0 }
        let end = p + bytes.count
        var out = start
        while p < end {
            copyPlain(&p, end, &out)
            guard p < end else { break }
            let byte = p.pointee
            p += 1
            guard byte == UInt8(ascii: "\\") else {
                guard byte >= 0x20 else { return nil }
                out.pointee = byte
                out += 1
                continue
            }
            guard p < end else { return nil }
            let escaped = p.pointee
            p += 1
            if escaped == UInt8(ascii: "u") {
                guard let scalar = scalar(&p, end) else { return nil }
                UTF8.write(scalar, to: &out)
            } else {
                guard let plain = plain(escaped) else { return nil }
                out.pointee = plain
                out += 1
            }
        }
        return out - start
    }

    /// Copies eight bytes at a time, up to a backslash or a control character, or to the last seven bytes.
    @inline(__always)
    private static func copyPlain(
        _ p: inout UnsafePointer<UInt8>, _ end: UnsafePointer<UInt8>, _ out: inout UnsafeMutablePointer<UInt8>
    ) {
        while end - p >= 8 {
            let word = UInt64(littleEndian: UnsafeRawPointer(p).loadUnaligned(as: UInt64.self))
            UnsafeMutableRawPointer(out).storeBytes(of: word.littleEndian, as: UInt64.self)
            // As in `JSONScan.skipPlain`.
            let backslash = word ^ 0x5C5C_5C5C_5C5C_5C5C
            let stops =
                ((backslash &- 0x0101_0101_0101_0101) & ~backslash | (word &- 0x2020_2020_2020_2020) & ~word)
                & 0x8080_8080_8080_8080
            let count = stops == 0 ? 8 : stops.trailingZeroBitCount >> 3
            p += count
            out += count
            guard stops == 0 else { return }
        }
    }

    private static func plain(_ escaped: UInt8) -> UInt8? {
        switch escaped {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): escaped
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0C
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "r"): 0x0D
        case UInt8(ascii: "t"): 0x09
        default: nil
        }
    }

    /// Reads the digits of one escape sequence, or of two for a pair of surrogates.
    private static func scalar(_ p: inout UnsafePointer<UInt8>, _ end: UnsafePointer<UInt8>) -> UInt32? {
        guard let first = hexadecimal(&p, end) else { return nil }
        switch first {
        case 0xD800..<0xDC00:
            guard end - p >= 2, p[0] == UInt8(ascii: "\\"), p[1] == UInt8(ascii: "u") else { return nil }
            p += 2
            guard let second = hexadecimal(&p, end), 0xDC00..<0xE000 ~= second else { return nil }
            return 0x1_0000 + (first - 0xD800) << 10 + (second - 0xDC00)
        case 0xDC00..<0xE000: return nil
        default: return first
        }
    }

    private static func hexadecimal(_ p: inout UnsafePointer<UInt8>, _ end: UnsafePointer<UInt8>) -> UInt32? {
        guard end - p >= 4 else { return nil }
        var value: UInt32 = 0
        for index in 0..<4 {
            let digit: UInt8
            switch p[index] {
            case let byte where byte &- UInt8(ascii: "0") < 10: digit = byte &- UInt8(ascii: "0")
            case let byte where (byte | 0x20) &- UInt8(ascii: "a") < 6: digit = (byte | 0x20) &- UInt8(ascii: "a") + 10
            default: return nil
            }
            value = value << 4 | UInt32(digit)
        }
        p += 4
        return value
    }
}
