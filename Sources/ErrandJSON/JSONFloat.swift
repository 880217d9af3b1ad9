/// A floating-point type that is read from JSON, with the numbers of its format.
protocol JSONFloat: BinaryFloatingPoint, Sendable {
    /// The number of explicit bits of the significand.
    static var fractionBits: Int { get }
    /// The exponent of infinity, with its bias.
    static var infinitePower: Int { get }
    /// The powers of ten by which a number of 64 bits may be multiplied without certainly being zero or infinite.
    static var powers: ClosedRange<Int> { get }
    /// The powers of ten for which such a product may lie exactly between two numbers of the type.
    static var tiePowers: ClosedRange<Int> { get }
    /// The greatest power of ten that the type represents exactly.
    static var greatestExactPower: Int { get }
    /// Returns that power of ten, which is one of those.
    static func exactPower(_ power: Int) -> Self
    init(jsonBits: UInt64)
}

extension Double: JSONFloat {
    static var fractionBits: Int { 52 }
    static var infinitePower: Int { 0x7FF }
    static var powers: ClosedRange<Int> { -342...308 }
    static var tiePowers: ClosedRange<Int> { -4...23 }
    static var greatestExactPower: Int { 22 }
    private static let exactPowers: [Double] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
        1e20, 1e21, 1e22,
    ]
    @inline(__always)
    static func exactPower(_ power: Int) -> Double { exactPowers[power] }
    @inline(__always)
    init(jsonBits: UInt64) { self.init(bitPattern: jsonBits) }
}

extension Float: JSONFloat {
    static var fractionBits: Int { 23 }
    static var infinitePower: Int { 0xFF }
    static var powers: ClosedRange<Int> { -65...38 }
    static var tiePowers: ClosedRange<Int> { -17...10 }
    static var greatestExactPower: Int { 10 }
    @inline(__always)
    static func exactPower(_ power: Int) -> Float { Float(Double.exactPower(power)) }
    @inline(__always)
    init(jsonBits: UInt64) { self.init(bitPattern: UInt32(truncatingIfNeeded: jsonBits)) }
}

extension JSONFloat {
    /// Reads a number and rounds it to the nearest one of the type, in a tie to the even one.
    ///
    /// Three ways, each exact where it is taken: one division or multiplication of numbers that the type represents
    /// (Clinger); a product of 64 by 128 bits (Eisel and Lemire); and, where more than 19 digits leave open which of
    /// two neighbors is nearer, a comparison of big integers.
    @inline(__always)
    init(json bytes: UnsafeBufferPointer<UInt8>) throws(JSONMisfit) {
        guard let number = JSONNumber(bytes) else { throw .fault(.malformedNumber) }
        self = Self(number, writtenAs: bytes)
        // A number that only rounds to zero or infinity is refused, as by `JSONDecoder`.
        guard isFinite, self != 0 || number.digits == 0 else { throw .fault(.unrepresentable) }
    }

    @inline(__always)
    init(_ number: JSONNumber, writtenAs bytes: UnsafeBufferPointer<UInt8>) {
        let greatest = Self.greatestExactPower
        let magnitude: Self
        if !number.isTruncated, number.digits >> UInt64(Self.fractionBits + 1) == 0,
            number.exponent >= -greatest && number.exponent <= greatest
        {
            magnitude =
                number.exponent < 0
                ? Self(number.digits) / Self.exactPower(-number.exponent)
                : Self(number.digits) * Self.exactPower(number.exponent)
        } else {
            magnitude = Self.rounded(number, writtenAs: bytes)
        }
        self = number.isNegative ? -magnitude : magnitude
    }

    private static func rounded(_ number: JSONNumber, writtenAs bytes: UnsafeBufferPointer<UInt8>) -> Self {
        let bits = self.bits(of: number.digits, power: number.exponent)
        // The further digits lie between this number and the next.
        guard number.isTruncated, self.bits(of: number.digits + 1, power: number.exponent) != bits else {
            return Self(jsonBits: bits)
        }
        return Self(jsonBits: ExactDecimal(bytes).isNearerAbove(bits, fractionBits: fractionBits) ? bits + 1 : bits)
    }

    /// Returns the bits of the number nearest to `digits` times that power of ten.
    private static func bits(of digits: UInt64, power: Int) -> UInt64 {
        guard digits != 0, power >= powers.lowerBound else { return 0 }
        let infinity = UInt64(infinitePower) << UInt64(fractionBits)
        guard power <= powers.upperBound else { return infinity }
        let shift = digits.leadingZeroBitCount
        // Two bits more than the significand, with its implicit one, decide about rounding; a third may be lost.
        let product = PowersOfFive.product(digits << UInt64(shift), power, exactBits: fractionBits + 3)
        let upper = Int(truncatingIfNeeded: product.high >> 63)
        let dropped = UInt64(upper + 64 - fractionBits - 3)
        var fraction = product.high >> dropped
        // The binary exponent of a power of ten, by a logarithm in fixed point.
        var exponent = ((152_170 + 65_536) * power) >> 16 + 63 + upper - shift + (infinitePower >> 1)
        if exponent <= 0 {
            // A subnormal number, which is rounded at another bit.
            guard 1 - exponent < 64 else { return 0 }
            fraction >>= UInt64(1 - exponent)
            fraction += fraction & 1
            fraction >>= 1
            // It may have been rounded up to the least normal number, whose exponent is one: that bit is there.
            return fraction
        }
        let isTie = product.low <= 1 && tiePowers.contains(power) && fraction & 3 == 1
        if isTie, fraction << dropped == product.high { fraction &= ~1 }
        fraction += fraction & 1
        fraction >>= 1
        if fraction >= 2 << UInt64(fractionBits) {
            fraction = 1 << UInt64(fractionBits)
            exponent += 1
        }
        guard exponent < infinitePower else { return infinity }
        return fraction & ~(1 << UInt64(fractionBits)) | UInt64(exponent) << UInt64(fractionBits)
    }
}

extension PowersOfFive {
    /// Returns a number, whose highest bit is set, times a power of five: the upper 128 bits of the product, of which
    /// as many are exact as needed.
    @inline(__always)
    fileprivate static func product(_ number: UInt64, _ power: Int, exactBits: Int) -> (high: UInt64, low: UInt64) {
        let index = 2 * (power - smallest)
        var (high, low) = number.multipliedFullWidth(by: words[index])
        let rest = UInt64.max >> UInt64(exactBits)
        if high & rest == rest {
            // Only then can the lower word of the power carry into the bits that matter.
            let carry: Bool
            (low, carry) = low.addingReportingOverflow(number.multipliedFullWidth(by: words[index + 1]).high)
            if carry { high += 1 }
        }
        return (high, low)
    }
}
