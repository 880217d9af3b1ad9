/// The exact value of a number in JSON, for the rare cases where its first nineteen digits do not determine how to
/// round it.
struct ExactDecimal {
    /// No number halfway between two of the type `Double` has more significant digits: those after them only matter if
    /// any of them is not zero.
    private static let mostDigits = 800

    private var digits = BigNatural(0)
    private var exponent: Int

    /// Reads a number whose syntax has been checked.
    init(_ bytes: UnsafeBufferPointer<UInt8>) {
        exponent = 0
        var (significant, isFraction, hasMore) = (0, false, false)
        var (chunk, factor): (UInt64, UInt64) = (0, 1)
        var rest = bytes[...]
        if rest.first == UInt8(ascii: "-") { rest.removeFirst() }
        while let byte = rest.popFirst() {
            if byte | 0x20 == UInt8(ascii: "e") { break }
            guard byte != UInt8(ascii: ".") else {
                isFraction = true
                continue
            }
            let digit = UInt64(byte &- UInt8(ascii: "0"))
            if isFraction { exponent -= 1 }
            guard significant > 0 || digit > 0 else { continue }
            guard significant < Self.mostDigits else {
                exponent += 1
                hasMore = hasMore || digit > 0
                continue
            }
            significant += 1
            (chunk, factor) = (chunk * 10 + digit, factor * 10)
            if factor == 1_000_000_000_000_000_000 {
                digits.multiply(by: factor, adding: chunk)
                (chunk, factor) = (0, 1)
            }
        }
        digits.multiply(by: factor, adding: chunk)
        if hasMore {
            digits.multiply(by: 10, adding: 1)
            exponent -= 1
        }
        // The exponent is small, or the first nineteen digits would have shown that the number is zero or infinite.
        exponent += Int(String(decoding: rest, as: UTF8.self)) ?? 0
    }

    /// Whether the value is nearer to the number that follows the one with these bits; in a tie, whether the latter is
    /// odd.
    func isNearerAbove(_ bits: UInt64, fractionBits: Int) -> Bool {
        let biased = Int(truncatingIfNeeded: bits >> UInt64(fractionBits))
        let fraction = bits & (1 << UInt64(fractionBits) - 1)
        let significand = biased == 0 ? fraction : fraction | 1 << UInt64(fractionBits)
        // In units of half the distance to the next number: 1075 and 150 are the biases of those for 64 and 32 bits.
        let power = max(biased, 1) - (fractionBits == 52 ? 1075 : 150) - 1
        var middle = BigNatural(2 * significand + 1)
        var value = digits
        if exponent < 0 { middle.multiplyByTen(toThe: -exponent) } else { value.multiplyByTen(toThe: exponent) }
        if power < 0 { value.shiftLeft(by: -power) } else { middle.shiftLeft(by: power) }
        return value == middle ? significand & 1 == 1 : middle < value
    }
}

/// A natural number of any size.
struct BigNatural: Comparable {
    /// The least significant word comes first; the last one is not zero.
    private(set) var words: [UInt64]

    init(_ value: UInt64) { words = value == 0 ? [] : [value] }

    mutating func multiply(by factor: UInt64, adding summand: UInt64 = 0) {
        var carry = summand
        for index in words.indices {
            let (high, low) = words[index].multipliedFullWidth(by: factor)
            let (sum, isOver) = low.addingReportingOverflow(carry)
            words[index] = sum
            carry = high + (isOver ? 1 : 0)
        }
        if carry > 0 { words.append(carry) }
    }

    mutating func multiplyByTen(toThe power: Int) {
        // The greatest power of ten in a word.
        for _ in 0..<power / 19 { multiply(by: 10_000_000_000_000_000_000) }
        for _ in 0..<power % 19 { multiply(by: 10) }
    }

    mutating func shiftLeft(by count: Int) {
        multiply(by: 1 << UInt64(count % 64))
        if !words.isEmpty { words.insert(contentsOf: repeatElement(0, count: count / 64), at: 0) }
    }

    static func < (left: BigNatural, right: BigNatural) -> Bool {
        guard left.words.count == right.words.count else { return left.words.count < right.words.count }
        return left.words.reversed().lexicographicallyPrecedes(right.words.reversed())
    }
}
