#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The conversion of keys from `snake_case` to `camelCase`.
package enum SnakeCase {
    /// Returns whether a key in ASCII, once it is converted, is equal to a name.
    static func isEqual(_ key: UnsafeBufferPointer<UInt8>, _ name: UnsafeBufferPointer<UInt8>) -> Bool {
        guard name.count <= key.count else { return false }
        guard let first = key.firstIndex(where: { $0 != underscore }),
            let last = key.lastIndex(where: { $0 != underscore })
        else { return key.elementsEqual(name) }
        guard key[first...last].contains(underscore) else { return key.elementsEqual(name) }
        var out = 0
        func matches(_ byte: UInt8) -> Bool {
            defer { out += 1 }
            return out < name.count && name[out] == byte
        }
        var (isWordStart, isFirstWord) = (false, true)
        for index in key.indices {
            var byte = key[index]
            if first...last ~= index {
                if byte == underscore {
                    (isWordStart, isFirstWord) = (true, false)
                    continue
                }
                if isLetter(byte) {
                    byte = isWordStart && !isFirstWord ? byte & ~0x20 : byte | 0x20
                    isWordStart = false
                } else {
                    // A letter after a digit is capitalized too; other characters have rules of their own.
                    guard byte &- UInt8(ascii: "0") < 10 else { return slowIsEqual(key, name) }
                    isWordStart = true
                }
            }
            guard matches(byte) else { return false }
        }
        return out == name.count
    }

    private static let underscore = UInt8(ascii: "_")

    private static func isLetter(_ byte: UInt8) -> Bool { (byte | 0x20) &- UInt8(ascii: "a") < 26 }

    @inline(never)
    private static func slowIsEqual(_ key: UnsafeBufferPointer<UInt8>, _ name: UnsafeBufferPointer<UInt8>) -> Bool {
        camelCase(String(decoding: key, as: UTF8.self)).utf8.elementsEqual(name)
    }

    /// Returns the converted key.
    package static func camelCase(_ key: String) -> String {
        let start = key.prefix { $0 == "_" }
        guard start.endIndex < key.endIndex else { return key }
        let end = key.reversed().prefix { $0 == "_" }.count
        let words = key.dropFirst(start.count).dropLast(end).split(separator: "_")
        guard words.count > 1, let first = words.first else { return key }
        let rest = words.dropFirst().map(\.capitalized).joined()
        return start + first.lowercased() + rest + String(repeating: "_", count: end)
    }
}
