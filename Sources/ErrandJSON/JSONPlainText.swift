#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension URL: JSONPlain {
    static func read(_ entry: Int, in document: JSONDocument) throws(JSONMisfit) -> URL {
        guard let url = URL(string: try document.string(entry)) else { throw .otherType }
        return url
    }
}

extension UUID: JSONPlain {
    static func read(_ entry: Int, in document: JSONDocument) throws(JSONMisfit) -> UUID {
        guard document[entry].kind == .ascii, let uuid = UUID(json: document.bytes(of: document[entry])) else {
            throw .otherType
        }
        return uuid
    }

    /// Reads 32 hexadecimal digits in groups of 8, 4, 4, 4 and 12; `nil` if it is written in any other way.
    private init?(json bytes: UnsafeBufferPointer<UInt8>) {
        guard bytes.count == 36 else { return nil }
        var (digits, isValid) = (UInt128(0), true)
        for index in 0..<36 {
            let byte = bytes[index]
            switch index {
            case 8, 13, 18, 23: isValid = isValid && byte == UInt8(ascii: "-")
            default:
                let letter = (byte | 0x20) &- UInt8(ascii: "a")
                let digit = letter < 6 ? letter + 10 : byte &- UInt8(ascii: "0")
                isValid = isValid && digit < 16 && (letter < 6 || digit < 10)
                digits = digits << 4 | UInt128(digit & 0xF)
            }
        }
        guard isValid else { return nil }
        self.init(uuid: unsafeBitCast(digits.bigEndian, to: uuid_t.self))
    }
}

extension Decimal: JSONPlain {
    /// The exponents with which neither the digits nor the exponent of a number reach the limits of the type.
    private static var usualExponents: ClosedRange<Int> { -60...60 }

    static func read(_ entry: Int, in document: JSONDocument) throws(JSONMisfit) -> Decimal {
        let value = document[entry]
        guard value.kind == .integer || value.kind == .number else { throw value.isNull ? .null : .otherType }
        let bytes = document.bytes(of: value)
        guard var number = JSONNumber(bytes) else { throw .fault(.malformedNumber) }
        guard !number.isTruncated, number.digits > 0, usualExponents.contains(number.exponent) else {
            guard let decimal = Decimal(string: String(decoding: bytes, as: UTF8.self)) else {
                throw .fault(.unrepresentable)
            }
            return decimal
        }
        // The type has no zeros at the end either, and takes longer to remove them.
        while number.digits % 10 == 0 {
            number.digits /= 10
            number.exponent += 1
        }
        return Decimal(
            sign: number.isNegative ? .minus : .plus, exponent: number.exponent, significand: Decimal(number.digits))
    }
}
