#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension Data: JSONPlain {
    static func read(_ entry: Int, in document: JSONDocument) throws(JSONMisfit) -> Data {
        let text = document[entry]
        // Any other strategy, and any other text, is left to what decodes a single value.
        guard case .base64 = document.options.dataDecodingStrategy.kind, text.kind == .ascii,
            let data = Data(usualBase64: document.bytes(of: text))
        else { throw .otherType }
        return data
    }

    /// Reads Base64 as nearly all servers write it, with its padding and without spaces; `nil` for any other.
    private init?(usualBase64 text: UnsafeBufferPointer<UInt8>) {
        guard text.count % 4 == 0 else { return nil }
        let digits = text.count - (text.suffix(2).count { $0 == UInt8(ascii: "=") })
        // In a padded text, the last bits stand for nothing.
        let spareBits = digits * 6 % 8
        let data: Data? = withUnsafeTemporaryAllocation(of: UInt8.self, capacity: text.count) { buffer in
            let values = Base64Digits.values
            var (bits, invalid, count) = (UInt32(0), UInt8(0), 0)
            for index in 0..<digits {
                let digit = values[Int(text[index])]
                invalid |= digit
                bits = bits << 6 | UInt32(digit)
                guard index & 3 == 3 else { continue }
                buffer[count] = UInt8(truncatingIfNeeded: bits >> 16)
                buffer[count + 1] = UInt8(truncatingIfNeeded: bits >> 8)
                buffer[count + 2] = UInt8(truncatingIfNeeded: bits)
                count += 3
            }
            guard invalid < 64, spareBits == 0 || bits & (1 << UInt32(spareBits) - 1) == 0 else { return nil }
            var rest = digits * 6 / 8 - count
            bits >>= UInt32(spareBits)
            while rest > 0 {
                rest -= 1
                buffer[count] = UInt8(truncatingIfNeeded: bits >> UInt32(8 * rest))
                count += 1
            }
            return Data(UnsafeBufferPointer(rebasing: buffer[..<count]))
        }
        guard let data else { return nil }
        self = data
    }
}

/// The values of the digits of Base64, by their bytes; 255 for any other byte.
private enum Base64Digits {
    static let values: [UInt8] = {
        var values = [UInt8](repeating: 255, count: 256)
        for (value, digit) in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8.enumerated() {
            values[Int(digit)] = UInt8(value)
        }
        return values
    }()
}
