#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The digests in `Repr-Digest` and `Content-Digest` (RFC 9530): a dictionary of structured fields (RFC 9651) whose
/// values are byte sequences.
///
/// ```text
/// sha-256=:X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=:;a=1, sha-512=:…:
/// ```
///
/// Parameters, and members of other kinds, say nothing about a digest; they are read all the same, so that they do not
/// hide the digest beside them.
struct DigestFields: Sendable, Hashable {
    /// The digests by the name of their algorithm.
    private(set) var digests: [String: [UInt8]] = [:]

    /// The SHA-256; `nil` if there is none, or if it has another length.
    var sha256: [UInt8]? { digests["sha-256"].flatMap { $0.count == 32 ? $0 : nil } }

    /// Reads the values of all fields with the name. Returns `nil` if they are not such a dictionary: then the whole of
    /// it counts as missing.
    init?(_ values: [String]) {
        var text = FieldText(values.joined(separator: ","))
        text.skip { $0 == " " || $0 == "\t" }
        guard !text.isAtEnd else { return nil }
        while true {
            guard let key = text.key() else { return nil }
            // Of a name that repeats, the last counts.
            digests[key] = nil
            if text.take("=") {
                if text.next == ":" {
                    guard let bytes = text.bytes() else { return nil }
                    digests[key] = bytes
                } else {
                    guard text.skipList() || text.skipItem() else { return nil }
                }
            }
            guard text.skipParameters() else { return nil }
            text.skip { $0 == " " || $0 == "\t" }
            if text.isAtEnd { return }
            guard text.take(",") else { return nil }
            text.skip { $0 == " " || $0 == "\t" }
        }
    }
}

/// The rest of a structured field while it is read (RFC 9651, 4.2).
private struct FieldText {
    private var rest: Substring

    init(_ text: String) {
        rest = text[...]
    }

    var isAtEnd: Bool { rest.isEmpty }
    var next: Character? { rest.first }

    mutating func take(_ character: Character) -> Bool {
        guard rest.first == character else { return false }
        rest.removeFirst()
        return true
    }

    /// Skips characters. Returns how many.
    @discardableResult
    mutating func skip(while isSkipped: (Character) -> Bool) -> Int {
        let skipped = rest.prefix(while: isSkipped)
        rest = rest[skipped.endIndex...]
        return skipped.count
    }

    mutating func key() -> String? {
        let key = rest.prefix { $0.isKeyCharacter }
        guard let first = key.first, first.isLowercaseLetter || first == "*" else { return nil }
        rest = rest[key.endIndex...]
        return String(key)
    }

    mutating func bytes() -> [UInt8]? {
        guard take(":"), let end = rest.firstIndex(of: ":") else { return nil }
        defer { rest = rest[rest.index(after: end)...] }
        return Data(base64Encoded: String(rest[..<end])).map(Array.init)
    }

    /// Skips parameters. Returns `false` if they are malformed.
    mutating func skipParameters() -> Bool {
        while take(";") {
            skip { $0 == " " }
            guard key() != nil else { return false }
            if take("="), !skipItem() { return false }
        }
        return true
    }

    /// Skips a list in parentheses. Returns `false` if there is none, or if it is malformed.
    mutating func skipList() -> Bool {
        guard take("(") else { return false }
        while true {
            skip { $0 == " " }
            if take(")") { return true }
            guard skipItem(), skipParameters(), next == " " || next == ")" else { return false }
        }
    }

    /// Skips a value without parameters. Returns `false` if there is none.
    mutating func skipItem() -> Bool {
        switch next {
        case ":": return bytes() != nil
        case "\"": return skipString()
        case "?":
            rest.removeFirst()
            return take("0") || take("1")
        case "@":
            rest.removeFirst()
            return skipNumber(withFraction: false)
        case "%":
            rest.removeFirst()
            return skipString(isEscaped: false)
        case let first? where first.isDigit || first == "-": return skipNumber(withFraction: true)
        case let first? where first.isLetter && first.isASCII || first == "*":
            skip { $0.isTokenCharacter }
            return true
        default: return false
        }
    }

    private mutating func skipNumber(withFraction mayHaveFraction: Bool) -> Bool {
        _ = take("-")
        guard (1...15).contains(skip { $0.isDigit }) else { return false }
        guard mayHaveFraction, take(".") else { return true }
        return (1...3).contains(skip { $0.isDigit })
    }

    private mutating func skipString(isEscaped: Bool = true) -> Bool {
        guard take("\"") else { return false }
        while let character = rest.popFirst() {
            switch character {
            case "\"": return true
            case "\\" where isEscaped: guard take("\\") || take("\"") else { return false }
            default: guard let byte = character.asciiValue, (0x20..<0x7F).contains(byte) else { return false }
            }
        }
        return false
    }
}

extension Character {
    fileprivate var isLowercaseLetter: Bool { ("a"..."z").contains(self) && isASCII }
    fileprivate var isDigit: Bool { isASCII && isWholeNumber }
    fileprivate var isKeyCharacter: Bool { isLowercaseLetter || isDigit || "_-.*".contains(self) }
    fileprivate var isTokenCharacter: Bool { isASCII && (isLetter || isDigit || "!#$%&'*+-.^_`|~:/".contains(self)) }
}
