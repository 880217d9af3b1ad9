/// A number as it is written: a sign, up to 19 significant digits, and a power of ten.
struct JSONNumber {
    var isNegative = false
    /// The first 19 significant digits.
    var digits: UInt64 = 0
    /// The power of ten by which the digits are multiplied.
    var exponent = 0
    /// Whether there are further digits that are not zero.
    var isTruncated = false

    /// Reads a number; `nil` if it is not written as JSON demands.
    @inline(__always)
    init?(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard var p = bytes.baseAddress else { return nil }
        let end = p + bytes.count
        isNegative = p.pointee == UInt8(ascii: "-")
        if isNegative { p += 1 }
        let whole = p
        Self.read(&p, end, into: &digits)
        var count = p - whole
        guard count == 1 || count > 1 && whole.pointee != UInt8(ascii: "0") else { return nil }
        if p < end, p.pointee == UInt8(ascii: ".") {
            p += 1
            let fraction = p
            Self.readEight(&p, end, into: &digits)
            Self.read(&p, end, into: &digits)
            guard p > fraction else { return nil }
            exponent = fraction - p
            count += p - fraction
        }
        let digitsEnd = p
        if p < end {
            guard let power = Self.power(&p, end) else { return nil }
            exponent += power
        }
        if count > 19 { keepNineteen(whole, digitsEnd) }
    }

    @inline(__always)
    private static func read(_ p: inout UnsafePointer<UInt8>, _ end: UnsafePointer<UInt8>, into digits: inout UInt64) {
        while p < end {
            let digit = p.pointee &- UInt8(ascii: "0")
            guard digit < 10 else { return }
            // What overflows is read again, in `keepNineteen`.
            digits = digits &* 10 &+ UInt64(digit)
            p += 1
        }
    }

    /// Reads digits as long as there are eight.
    @inline(__always)
    private static func readEight(
        _ p: inout UnsafePointer<UInt8>, _ end: UnsafePointer<UInt8>, into digits: inout UInt64
    ) {
        while end - p >= 8 {
            let word = UInt64(littleEndian: UnsafeRawPointer(p).loadUnaligned(as: UInt64.self))
            let values = word ^ 0x3030_3030_3030_3030
            guard (values | (values &+ 0x7676_7676_7676_7676)) & 0x8080_8080_8080_8080 == 0 else { return }
            // Neighbors are joined: first digits to pairs, then pairs to fours, then fours to eight.
            let pairs = (values &* 10 &+ (values >> 8)) & 0x00FF_00FF_00FF_00FF
            let fours = (pairs &* 100 &+ (pairs >> 16)) & 0x0000_FFFF_0000_FFFF
            let eight = (fours &* 10_000 &+ (fours >> 32)) & 0xFFFF_FFFF
            digits = digits &* 100_000_000 &+ eight
            p += 8
        }
    }

    /// Reads the exponent, the rest of a number.
    private static func power(_ p: inout UnsafePointer<UInt8>, _ end: UnsafePointer<UInt8>) -> Int? {
        guard p.pointee | 0x20 == UInt8(ascii: "e") else { return nil }
        p += 1
        var isNegative = false
        if p < end, p.pointee == UInt8(ascii: "-") || p.pointee == UInt8(ascii: "+") {
            isNegative = p.pointee == UInt8(ascii: "-")
            p += 1
        }
        guard p < end else { return nil }
        var power = 0
        while p < end {
            let digit = p.pointee &- UInt8(ascii: "0")
            guard digit < 10 else { return nil }
            // No document has enough digits to make up for such an exponent.
            if power < 1 << 40 { power = power * 10 + Int(digit) }
            p += 1
        }
        return isNegative ? -power : power
    }

    /// Reads the digits again, of which there are more than nineteen, but perhaps zeros at the beginning.
    @inline(never)
    private mutating func keepNineteen(_ start: UnsafePointer<UInt8>, _ end: UnsafePointer<UInt8>) {
        (digits, isTruncated) = (0, false)
        var (significant, dropped) = (0, 0)
        for byte in UnsafeBufferPointer(start: start, count: end - start) where byte != UInt8(ascii: ".") {
            let digit = byte &- UInt8(ascii: "0")
            if significant < 19 {
                digits = digits * 10 + UInt64(digit)
                if digits > 0 { significant += 1 }
            } else {
                dropped += 1
                if digit > 0 { isTruncated = true }
            }
        }
        exponent += dropped
    }
}

extension FixedWidthInteger {
    /// Reads digits with an optional sign.
    @inline(__always)
    init(jsonDigits bytes: UnsafeBufferPointer<UInt8>) throws(JSONMisfit) {
        let isNegative = bytes.first == UInt8(ascii: "-")
        let start = isNegative ? 1 : 0
        guard bytes.count > start, bytes.count == start + 1 || bytes[start] != UInt8(ascii: "0") else {
            throw .fault(.malformedNumber)
        }
        guard bytes.count <= 18 else {
            self = try Self(longDigits: bytes, isNegative: isNegative)
            return
        }
        var digits: UInt64 = 0
        for index in start..<bytes.count { digits = digits &* 10 &+ UInt64(bytes[index] &- UInt8(ascii: "0")) }
        let signed = Int64(truncatingIfNeeded: digits)
        guard let value = Self(exactly: isNegative ? -signed : signed) else { throw .fault(.unrepresentable) }
        self = value
    }

    /// Each integer type has a copy of this, so what is long is in a function that all types share.
    @inline(__always)
    private init(longDigits bytes: UnsafeBufferPointer<UInt8>, isNegative: Bool) throws(JSONMisfit) {
        let magnitude = try UInt128(jsonDigits: bytes[(isNegative ? 1 : 0)...])
        guard isNegative else {
            guard let value = Self(exactly: magnitude) else { throw .fault(.unrepresentable) }
            self = value
            return
        }
        guard magnitude <= 1 << 127, let value = Self(exactly: Int128(truncatingIfNeeded: 0 &- magnitude)) else {
            throw .fault(.unrepresentable)
        }
        self = value
    }
}

extension UInt128 {
    @inline(never)
    fileprivate init(jsonDigits bytes: Slice<UnsafeBufferPointer<UInt8>>) throws(JSONMisfit) {
        self = 0
        for byte in bytes {
            let (product, isTooLarge) = multipliedReportingOverflow(by: 10)
            let (sum, isTooLargeSum) = product.addingReportingOverflow(UInt128(byte &- UInt8(ascii: "0")))
            guard !isTooLarge, !isTooLargeSum else { throw .fault(.unrepresentable) }
            self = sum
        }
    }
}
