#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The members of a header field that is a list or a dictionary of structured fields (RFC 9651).
///
/// A field that breaks a rule of the standard anywhere counts as missing, all of it, because the standard says so:
/// clients that repaired such fields would not agree on what they mean.
struct StructuredField {
    /// A value. Integers and byte sequences are kept; of other types the syntax is checked.
    enum Value: Sendable, Hashable {
        case integer(Int64)
        case bytes([UInt8])
        case other
    }

    /// A member of the field.
    struct Member: Sendable, Hashable {
        /// The key of a dictionary's member; `nil` in a list.
        var key: String?
        var value = Value.other
        var parameters: [String: Value] = [:]
    }

    /// Returns the members of a list, given as the values of all fields with the name; `nil` if it is none.
    static func list(_ values: [String]) -> [Member]? {
        members(of: values) { parser in
            guard let value = parser.itemOrInnerList(), let parameters = parser.parameters() else { return nil }
            return Member(value: value, parameters: parameters)
        }
    }

    /// Returns the members of a dictionary, in the order in which their keys first appear; `nil` if it is none. Of a
    /// key that repeats, the last member counts.
    static func dictionary(_ values: [String]) -> [Member]? {
        let members = members(of: values) { parser in
            guard let key = parser.key() else { return nil }
            var value: Value? = .other
            // A key by itself is true.
            if parser.skip(UInt8(ascii: "=")) { value = parser.itemOrInnerList() }
            guard let value, let parameters = parser.parameters() else { return nil }
            return Member(key: key, value: value, parameters: parameters)
        }
        guard let members else { return nil }
        var places: [String?: Int] = [:]
        var last: [Member] = []
        for member in members {
            if let place = places[member.key] {
                last[place] = member
            } else {
                places[member.key] = last.count
                last.append(member)
            }
        }
        return last
    }

    /// Reads members with commas between them; none may follow the last.
    private static func members(of values: [String], _ member: (inout Parser) -> Member?) -> [Member]? {
        let values = values.map(\.trimmed).filter { !$0.isEmpty }
        var parser = Parser(bytes: Array(values.joined(separator: ", ").utf8)[...])
        var members: [Member] = []
        while !parser.bytes.isEmpty {
            guard let member = member(&parser) else { return nil }
            members.append(member)
            parser.skipSpacesAndTabs()
            if parser.bytes.isEmpty { break }
            guard parser.skip(UInt8(ascii: ",")) else { return nil }
            parser.skipSpacesAndTabs()
            guard !parser.bytes.isEmpty else { return nil }
        }
        return members
    }
}

extension StructuredField {
    /// Reads the parts of a field from its beginning (RFC 9651, 4.2). Each function returns `nil` for what is
    /// malformed.
    fileprivate struct Parser {
        var bytes: ArraySlice<UInt8>

        mutating func skip(_ byte: UInt8) -> Bool {
            guard bytes.first == byte else { return false }
            bytes.removeFirst()
            return true
        }

        mutating func skipSpacesAndTabs() { bytes = bytes.drop { $0 == 0x20 || $0 == 0x09 } }

        private mutating func take(while isPart: (UInt8) -> Bool) -> ArraySlice<UInt8> {
            let part = bytes.prefix(while: isPart)
            bytes = bytes[part.endIndex...]
            return part
        }

        mutating func key() -> String? {
            guard let first = bytes.first, Self.isLowercase(first) || first == UInt8(ascii: "*") else { return nil }
            return String(
                decoding: take { Self.isLowercase($0) || Self.isDigit($0) || "_-.*".utf8.contains($0) }, as: UTF8.self)
        }

        /// Of a name that repeats, the last parameter counts.
        mutating func parameters() -> [String: Value]? {
            var parameters: [String: Value] = [:]
            while skip(UInt8(ascii: ";")) {
                bytes = bytes.drop { $0 == 0x20 }
                guard let key = key() else { return nil }
                guard skip(UInt8(ascii: "=")) else {
                    parameters[key] = .other
                    continue
                }
                guard let value = item() else { return nil }
                parameters[key] = value
            }
            return parameters
        }

        mutating func itemOrInnerList() -> Value? {
            guard skip(UInt8(ascii: "(")) else { return item() }
            while true {
                bytes = bytes.drop { $0 == 0x20 }
                if skip(UInt8(ascii: ")")) { return .other }
                guard item() != nil, parameters() != nil else { return nil }
                guard bytes.first == 0x20 || bytes.first == UInt8(ascii: ")") else { return nil }
            }
        }

        private mutating func item() -> Value? {
            guard let first = bytes.first else { return nil }
            switch first {
            case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return number()
            case UInt8(ascii: "\""): return string()
            case UInt8(ascii: ":"): return byteSequence()
            case UInt8(ascii: "?"):
                bytes.removeFirst()
                return skip(UInt8(ascii: "0")) || skip(UInt8(ascii: "1")) ? .other : nil
            case UInt8(ascii: "@"):
                bytes.removeFirst()
                guard case .integer = number() else { return nil }
                return .other
            case UInt8(ascii: "%"): return displayString()
            default:
                guard Self.isLetter(first) || first == UInt8(ascii: "*") else { return nil }
                _ = take { HTTPSyntax.isTokenByte($0) || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "/") }
                return .other
            }
        }

        /// An integer has 15 digits at most; a decimal twelve before its point, and three after it. Minus zero is zero.
        private mutating func number() -> Value? {
            let isNegative = skip(UInt8(ascii: "-"))
            let whole = take(while: Self.isDigit)
            guard !whole.isEmpty, whole.count <= 15 else { return nil }
            guard skip(UInt8(ascii: ".")) else {
                guard let number = Int64(String(decoding: whole, as: UTF8.self)) else { return nil }
                return .integer(isNegative ? -number : number)
            }
            let fraction = take(while: Self.isDigit)
            return whole.count <= 12 && (1...3).contains(fraction.count) ? .other : nil
        }

        private mutating func string() -> Value? {
            bytes.removeFirst()
            while let byte = bytes.popFirst() {
                switch byte {
                case UInt8(ascii: "\""): return .other
                case UInt8(ascii: "\\"):
                    guard let escaped = bytes.popFirst(), "\"\\".utf8.contains(escaped) else { return nil }
                case 0x20..<0x7F: break
                default: return nil
                }
            }
            return nil
        }

        /// Base64, whose padding may be missing.
        private mutating func byteSequence() -> Value? {
            bytes.removeFirst()
            let text = String(decoding: take { $0 != UInt8(ascii: ":") }, as: UTF8.self)
            let missing = (4 - text.utf8.count % 4) % 4
            // A part of the padding is too much, or too little: some versions of Foundation take it all the same.
            guard skip(UInt8(ascii: ":")), missing == 0 || !text.hasSuffix("="),
                let data = Data(base64Encoded: text + String(repeating: "=", count: missing))
            else { return nil }
            return .bytes(Array(data))
        }

        /// Text in UTF-8, of which what is not ASCII is percent-encoded in lower case.
        private mutating func displayString() -> Value? {
            bytes.removeFirst()
            guard skip(UInt8(ascii: "\"")) else { return nil }
            var text: [UInt8] = []
            while let byte = bytes.popFirst() {
                switch byte {
                case UInt8(ascii: "\""): return String(validating: text, as: UTF8.self) == nil ? nil : .other
                case UInt8(ascii: "%"):
                    let digits = bytes.prefix(2)
                    guard digits.count == 2, digits.allSatisfy({ Self.isDigit($0) || (0x61...0x66).contains($0) }),
                        let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
                    else { return nil }
                    text.append(value)
                    bytes = bytes.dropFirst(2)
                case 0x20..<0x7F: text.append(byte)
                default: return nil
                }
            }
            return nil
        }

        private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
        private static func isLowercase(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte) }
        private static func isLetter(_ byte: UInt8) -> Bool { isLowercase(byte.asciiLowercased) }
    }
}
