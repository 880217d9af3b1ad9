#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A `Set-Cookie` line, read as RFC 6265bis (5.6) says: what a server asks for, whether it may or not.
///
/// Names and values are never decoded: a cookie goes back as it came. Of an attribute that repeats, the last counts,
/// and attributes that are not known or have an invalid value are skipped.
struct SetCookie: Sendable, Equatable {
    /// The longest name and value, together, in bytes.
    static let longest = 4096
    /// The longest value of an attribute, in bytes; an attribute with a longer one is skipped.
    private static let longestAttribute = 1024
    /// The most attributes of a cookie. There are nine kinds.
    private static let mostAttributes = 64

    var name: String
    var value: String
    /// The value of `Domain` without a dot at its beginning, in lower case; `nil` if there is none.
    var domain: String?
    /// The value of `Path`; `nil` if it is no absolute path.
    var path: String?
    /// The date in `Expires`.
    var expires: Date?
    /// The seconds in `Max-Age`, which may be negative.
    var maxAge: Int64?
    var isSecure = false
    var isHTTPOnly = false
    /// `Strict`, `Lax` or `None`; `nil` if the line says none of them.
    var sameSite: String?
    var isPartitioned = false

    /// Reads a line; `nil` if it sets no cookie, because it has a control character, is too long, has too many
    /// attributes, or has neither a name nor a value.
    init?(_ line: some StringProtocol) {
        let line = Substring(line)
        // A server that gets a control character back refuses the request, and with it every request.
        guard line.utf8.allSatisfy({ ($0 >= 0x20 && $0 != 0x7F) || $0 == 0x09 }) else { return nil }
        var parts = line.split(
            separator: ";", maxSplits: Self.mostAttributes + 1, omittingEmptySubsequences: false)[...]
        guard let pair = parts.popFirst(), parts.count <= Self.mostAttributes else { return nil }
        let (name, value) = Self.pair(pair)
        // A line without an equals sign is a value without a name.
        (self.name, self.value) = value.map { (String(name), String($0)) } ?? ("", String(name))
        let length = self.name.utf8.count + self.value.utf8.count
        guard length > 0, length <= Self.longest else { return nil }
        for part in parts {
            let (name, value) = Self.pair(part)
            readAttribute(name.lowercased(), value ?? "")
        }
    }

    /// Returns a cookie as servers read it that skip equals signs before the name.
    static func readable(_ pair: String) -> Substring {
        Substring(pair.utf8.drop { $0 == UInt8(ascii: "=") || $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") })
    }

    /// Returns the two sides of the first equals sign, without spaces around them.
    private static func pair(_ text: Substring) -> (name: Substring, value: Substring?) {
        guard let sign = text.firstIndex(of: "=") else { return (text.trimmed, nil) }
        return (text[..<sign].trimmed, text[text.utf8.index(after: sign)...].trimmed)
    }

    private mutating func readAttribute(_ name: String, _ value: Substring) {
        guard value.utf8.count <= Self.longestAttribute else { return }
        switch name {
        case "domain":
            let domain = value.utf8.first == UInt8(ascii: ".") ? Substring(value.utf8.dropFirst()) : value
            self.domain = domain.isEmpty ? nil : domain.lowercased()
        case "path": path = value.utf8.first == UInt8(ascii: "/") ? String(value) : nil
        case "expires": expires = CookieDate.parse(value) ?? expires
        case "max-age": maxAge = Self.seconds(value) ?? maxAge
        case "secure": isSecure = true
        case "httponly": isHTTPOnly = true
        case "samesite": sameSite = ["Strict", "Lax", "None"].first { value.equalsIgnoringCase($0) }
        case "partitioned": isPartitioned = true
        default: break
        }
    }

    /// Reads digits with or without a minus sign. A number that is too large becomes the largest.
    private static func seconds(_ text: Substring) -> Int64? {
        let isNegative = text.utf8.first == UInt8(ascii: "-")
        return FieldParser.wholeNumber(isNegative ? text.dropFirst() : text).map { isNegative ? -$0 : $0 }
    }
}
