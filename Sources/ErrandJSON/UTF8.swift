extension UTF8 {
    /// Returns the scalar whose first byte is there. The bytes are those of a text, so they are valid.
    @inline(__always)
    static func scalar(at place: Int, of bytes: UnsafeBufferPointer<UInt8>) -> Unicode.Scalar {
        let first = UInt32(bytes[place])
        func more(_ offset: Int) -> UInt32 { UInt32(bytes[place + offset] & 0x3F) }
        let value =
            switch first {
            case ..<0x80: first
            case ..<0xE0: (first & 0x1F) << 6 | more(1)
            case ..<0xF0: (first & 0x0F) << 12 | more(1) << 6 | more(2)
            default: (first & 0x07) << 18 | more(1) << 12 | more(2) << 6 | more(3)
            }
        return Unicode.Scalar(value) ?? "\u{FFFD}"
    }

    /// Writes a scalar, of up to four bytes, and moves the pointer behind it.
    @inline(__always)
    static func write(_ scalar: UInt32, to out: inout UnsafeMutablePointer<UInt8>) {
        func append(_ bits: UInt32) {
            out.pointee = UInt8(truncatingIfNeeded: bits)
            out += 1
        }
        switch scalar {
        case 0..<0x80: append(scalar)
        case 0x80..<0x800:
            append(0xC0 | scalar >> 6)
            append(0x80 | scalar & 0x3F)
        case 0x800..<0x1_0000:
            append(0xE0 | scalar >> 12)
            append(0x80 | scalar >> 6 & 0x3F)
            append(0x80 | scalar & 0x3F)
        default:
            append(0xF0 | scalar >> 18)
            append(0x80 | scalar >> 12 & 0x3F)
            append(0x80 | scalar >> 6 & 0x3F)
            append(0x80 | scalar & 0x3F)
        }
    }
}
