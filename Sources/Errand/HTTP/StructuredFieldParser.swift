#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Reads the parts of structured fields (RFC 9651, 4.2). Each function returns `nil` for what is malformed; then the
/// whole field is, and nothing more is read.
extension FieldParser {
    private typealias Value = StructuredField.Value

    mutating func structuredKey() -> String? {
        guard let next, Self.isLowercase(next) || next == UInt8(ascii: "*") else { return nil }
        return String(take { Self.isLowercase($0) || Self.isDigit($0) || "_-.*".utf8.contains($0) })
    }

    /// Reads an item or an inner list, with its parameters.
    mutating func structuredMember() -> StructuredField.Member? {
        guard skip(UInt8(ascii: "(")) else { return structuredItem() }
        var items: [StructuredField.Member] = []
        while true {
            skip { $0 == 0x20 }
            if skip(UInt8(ascii: ")")) { break }
            guard items.count < StructuredField.mostParts, let item = structuredItem(),
                next == 0x20 || next == UInt8(ascii: ")")
            else { return nil }
            items.append(item)
        }
        return structuredParameters().map { StructuredField.Member(value: .list(items), parameters: $0) }
    }

    mutating func structuredItem() -> StructuredField.Member? {
        guard let value = bareItem(), let parameters = structuredParameters() else { return nil }
        return StructuredField.Member(value: value, parameters: parameters)
    }

    /// Of a name that repeats, the last parameter counts.
    mutating func structuredParameters() -> [String: StructuredField.Value]? {
        var (parameters, count) = ([String: Value](), 0)
        while skip(UInt8(ascii: ";")) {
            count += 1
            skip { $0 == 0x20 }
            guard count <= StructuredField.mostParts, let key = structuredKey() else { return nil }
            var value: Value? = .boolean(true)
            if skip(UInt8(ascii: "=")) { value = bareItem() }
            guard let value else { return nil }
            parameters[key] = value
        }
        return parameters
    }

    private mutating func bareItem() -> Value? {
        guard let first = next else { return nil }
        switch first {
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return number()
        case UInt8(ascii: "\""): return string().map { .string($0) }
        case UInt8(ascii: ":"): return byteSequence().map { .bytes($0) }
        case UInt8(ascii: "?"):
            _ = pop()
            return skip(UInt8(ascii: "1")) ? .boolean(true) : skip(UInt8(ascii: "0")) ? .boolean(false) : nil
        case UInt8(ascii: "@"):
            _ = pop()
            guard case .integer(let seconds) = number() else { return nil }
            return .date(seconds)
        case UInt8(ascii: "%"):
            _ = pop()
            return displayString().map { .displayString($0) }
        default:
            guard Self.isLowercase(first.asciiLowercased) || first == UInt8(ascii: "*") else { return nil }
            let token = take { HTTPSyntax.isTokenByte($0) || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "/") }
            return .token(String(token))
        }
    }

    /// An integer has 15 digits at most; a decimal twelve before its point, and three after it. Minus zero is zero.
    private mutating func number() -> Value? {
        let sign: Int64 = skip(UInt8(ascii: "-")) ? -1 : 1
        guard let whole = digits(), whole.utf8.count <= 15, let number = Int64(whole) else { return nil }
        guard skip(UInt8(ascii: ".")) else { return .integer(sign * number) }
        guard whole.utf8.count <= 12, let fraction = digits(), let part = Int64(fraction) else { return nil }
        switch fraction.utf8.count {
        case 1: return .decimal(thousandths: sign * (number * 1000 + part * 100))
        case 2: return .decimal(thousandths: sign * (number * 1000 + part * 10))
        case 3: return .decimal(thousandths: sign * (number * 1000 + part))
        default: return nil
        }
    }

    /// Visible ASCII in quotation marks, in which a backslash escapes only a mark or another backslash.
    private mutating func string() -> String? {
        _ = pop()
        var text = String(take(while: Self.isPlain))
        while let byte = pop() {
            switch byte {
            case UInt8(ascii: "\""): return text
            case UInt8(ascii: "\\"):
                guard let escaped = pop(), "\"\\".utf8.contains(escaped) else { return nil }
                text.unicodeScalars.append(UnicodeScalar(escaped))
                text += take(while: Self.isPlain)
            default: return nil
            }
        }
        return nil
    }

    /// Base64, whose padding may be missing.
    private mutating func byteSequence() -> [UInt8]? {
        _ = pop()
        let text = String(take { $0 != UInt8(ascii: ":") })
        let missing = (4 - text.utf8.count % 4) % 4
        // A part of the padding is too much, or too little: some versions of Foundation take it all the same.
        guard skip(UInt8(ascii: ":")), missing == 0 || !text.hasSuffix("="),
            let data = Data(base64Encoded: text + String(repeating: "=", count: missing))
        else { return nil }
        return Array(data)
    }

    /// Text in UTF-8, of which what is not ASCII is percent-encoded in lower case.
    private mutating func displayString() -> String? {
        guard skip(UInt8(ascii: "\"")) else { return nil }
        var text: [UInt8] = []
        while let byte = pop() {
            switch byte {
            case UInt8(ascii: "\""): return String(validating: text, as: UTF8.self)
            case UInt8(ascii: "%"):
                guard let high = pop().flatMap(Self.digitValue), let low = pop().flatMap(Self.digitValue) else {
                    return nil
                }
                text.append(high << 4 | low)
            case 0x20..<0x7F: text.append(byte)
            default: return nil
            }
        }
        return nil
    }

    private static func isLowercase(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte) }

    /// Returns whether a string may have the byte as it is.
    private static func isPlain(_ byte: UInt8) -> Bool {
        (0x20..<0x7F).contains(byte) && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }

    /// Returns the value of a hexadecimal digit, which has to be in lower case.
    private static func digitValue(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x61...0x66: byte - 0x61 + 10
        default: nil
        }
    }
}
