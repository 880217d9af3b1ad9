#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The digests in `Repr-Digest` and `Content-Digest` (RFC 9530): a dictionary of structured fields (RFC 9651) whose
/// values are byte sequences.
///
/// ```text
/// sha-256=:X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=:, sha-512=:…:
/// ```
struct DigestFields: Sendable, Hashable {
    /// The digests by the name of their algorithm.
    private(set) var digests: [String: [UInt8]] = [:]

    /// The SHA-256; `nil` if there is none, or if it has another length.
    var sha256: [UInt8]? { digests["sha-256"].flatMap { $0.count == 32 ? $0 : nil } }

    /// Reads the values of all fields with the name. Returns `nil` if they are not such a dictionary: then the whole of
    /// it counts as missing.
    init?(_ values: [String]) {
        var rest = values.joined(separator: ",")[...]
        Self.skipSpaces(&rest)
        guard !rest.isEmpty else { return nil }
        while true {
            guard let key = Self.key(&rest), rest.popFirst() == "=", let bytes = Self.bytes(&rest) else { return nil }
            // Of a name that repeats, the last counts.
            digests[key] = bytes
            guard Self.skipParameters(&rest) else { return nil }
            Self.skipSpaces(&rest)
            guard let comma = rest.popFirst() else { return }
            guard comma == "," else { return nil }
            Self.skipSpaces(&rest)
        }
    }

    private static func key(_ rest: inout Substring) -> String? {
        let key = rest.prefix { $0.isKeyCharacter }
        guard let first = key.first, first.isLowercaseLetter || first == "*" else { return nil }
        rest = rest[key.endIndex...]
        return String(key)
    }

    private static func bytes(_ rest: inout Substring) -> [UInt8]? {
        guard rest.popFirst() == ":", let end = rest.firstIndex(of: ":") else { return nil }
        defer { rest = rest[rest.index(after: end)...] }
        return Data(base64Encoded: String(rest[..<end])).map(Array.init)
    }

    /// Skips parameters, none of which says anything about a digest. Returns `false` if they are malformed.
    private static func skipParameters(_ rest: inout Substring) -> Bool {
        while rest.first == ";" {
            rest = rest.dropFirst().drop { $0 == " " }
            guard key(&rest) != nil else { return false }
            guard rest.first == "=" else { continue }
            rest = rest.dropFirst().drop { !" ,;\t\"".contains($0) }
            guard rest.first != "\"" else { return false }
        }
        return true
    }

    private static func skipSpaces(_ rest: inout Substring) {
        rest = rest.drop { $0 == " " || $0 == "\t" }
    }
}

extension Character {
    fileprivate var isLowercaseLetter: Bool { ("a"..."z").contains(self) && isASCII }
    fileprivate var isKeyCharacter: Bool {
        isLowercaseLetter || isASCII && isWholeNumber || self == "_" || self == "-" || self == "." || self == "*"
    }
}
