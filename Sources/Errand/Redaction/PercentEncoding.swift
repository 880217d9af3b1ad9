/// The characters allowed in one part of a URL, and the percent-encoding of all others (RFC 3986, 2.1).
///
/// Each part allows fewer characters than the standard: characters that a server could read as separators are escaped.
package enum PercentEncoding {
    /// A literal path, in which slashes separate segments.
    case path
    /// One segment of a path, in which a slash is part of the value.
    case segment
    /// A literal query, in which `&` and `=` are separators.
    case query
    /// A name or a value in a query.
    case queryPart

    private static let hex = Array("0123456789ABCDEF".utf8)

    /// Returns whether the text needs no escapes here.
    func allowsAll(_ text: String) -> Bool {
        text.utf8.all { allows($0) }
    }

    /// Escapes all characters that are not allowed here, including `%`, so that a server decodes the original text.
    func encode(_ text: String) -> String {
        guard !allowsAll(text) else { return text }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count * 3)
        for byte in text.utf8 { append(byte, to: &bytes) }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Escapes characters that are not allowed here and keeps existing escapes. Returns `nil` if a `%` does not begin
    /// an escape.
    func keepingEscapes(_ text: some StringProtocol) -> String? {
        guard !text.utf8.allSatisfy(allows) else { return String(text) }
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                append(byte, to: &bytes)
                continue
            }
            guard rest.count >= 2, rest.prefix(2).allSatisfy(Self.isHexDigit) else { return nil }
            bytes.append(byte)
            bytes += rest.prefix(2)
            rest = rest.dropFirst(2)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Decodes percent escapes; other text stays as it is.
    package static func decode(_ text: some StringProtocol) -> String {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), rest.count >= 2,
                let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
            {
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    static func isAlphanumeric(_ byte: UInt8) -> Bool {
        (0x61...0x7A).contains(byte.asciiLowercased) || (0x30...0x39).contains(byte)
    }

    static func isHexDigit(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte.asciiLowercased)
    }

    private func append(_ byte: UInt8, to bytes: inout [UInt8]) {
        if allows(byte) {
            bytes.append(byte)
        } else {
            bytes += [UInt8(ascii: "%"), Self.hex[Int(byte >> 4)], Self.hex[Int(byte & 15)]]
        }
    }

    private func allows(_ byte: UInt8) -> Bool {
        if Self.isAlphanumeric(byte) { return true }
        switch byte {
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"): return true
        case UInt8(ascii: "/"), UInt8(ascii: ":"), UInt8(ascii: "@"), UInt8(ascii: "!"), UInt8(ascii: "$"),
            UInt8(ascii: "'"), UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: "*"), UInt8(ascii: ","),
            UInt8(ascii: ";"), UInt8(ascii: "="), UInt8(ascii: "&"), UInt8(ascii: "+"):
            return self == .path || self == .query
        case UInt8(ascii: "?"): return self == .query
        default: return false
        }
    }
}

/// The dot segments of a path.
enum PathSegments {
    /// Returns the path without `.` and `..` segments (RFC 3986, 5.2.4). A `..` never leads above the root.
    static func removingDots(_ path: String) -> String {
        guard path.contains(".") else { return path.hasPrefix("/") ? path : "/" + path }
        var kept: [Substring] = []
        let segments = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst(
            path.hasPrefix("/") ? 1 : 0)
        for (offset, segment) in segments.enumerated() {
            let isLast = offset == segments.count - 1
            switch segment {
            case ".":
                if isLast { kept.append("") }
            case "..":
                _ = kept.popLast()
                if isLast { kept.append("") }
            default: kept.append(segment)
            }
        }
        return "/" + kept.joined(separator: "/")
    }
}

// MARK: Bytes and letters of ASCII, as headers, URLs and secrets are compared

extension UInt8 {
    /// The letter in lower case; any other byte as it is.
    var asciiLowercased: UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self
    }
}

extension String.UTF8View {
    /// `allSatisfy` over contiguous storage, which is several times as fast: every header of every request is checked
    /// with it.
    func all(_ isFine: (UInt8) -> Bool) -> Bool {
        withContiguousStorageIfAvailable { $0.allSatisfy(isFine) } ?? allSatisfy(isFine)
    }
}
