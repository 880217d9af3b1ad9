/// Finds secrets in text by the names before them, without a parser: the text may be cut off, broken, or prose with
/// JSON, HTML or a URL in it.
///
/// It makes one pass over the text: it searches for a name backwards, over no more than the greatest length of a name,
/// and continues after the value it found.
struct NamedSecrets {
    let names: SecretNames
    let bytes: [UInt8]
    /// Whether the text is a query or a form from its first byte.
    var isQuery = false

    /// Returns the ranges of the values, in order. A value that is cut off extends to the end of the text.
    func ranges() -> [Range<Int>] {
        var found: [Range<Int>] = []
        var lastQuote = -1
        var index = 0
        while index < bytes.count {
            let value: Range<Int>? =
                switch bytes[index] {
                case UInt8(ascii: "\""), UInt8(ascii: "'"): member(endingAt: index, after: lastQuote)
                case UInt8(ascii: "="): parameter(before: index)
                case UInt8(ascii: " "): credential(after: index)
                case UInt8(ascii: "/"): userInfo(after: index)
                default: nil
                }
            if Self.isQuote(bytes[index]) { lastQuote = index }
            if let value, !value.isEmpty {
                found.append(value)
                index = max(value.upperBound, index + 1)
            } else {
                index += 1
            }
        }
        return found
    }

    /// Matches `"name": value`. Every quotation mark may end a name, so an extra one hides no name.
    private func member(endingAt quote: Int, after lastQuote: Int) -> Range<Int>? {
        var start = quote + 1
        var hasColon = false
        while start < bytes.count, Self.isSpace(bytes[start]) || bytes[start] == UInt8(ascii: ":") {
            hasColon = hasColon || bytes[start] == UInt8(ascii: ":")
            start += 1
        }
        let name = max(lastQuote + 1, quote - SecretNames.longest)..<quote
        guard hasColon, isSecret(name, in: .member) else { return nil }
        return start..<endOfValue(at: start)
    }

    /// Matches `name=value`, `name = value`, `"name"=>"value"`.
    private func parameter(before equals: Int) -> Range<Int>? {
        var end = equals
        while end > 0, equals - end < 8, bytes[end - 1] == 0x20 { end -= 1 }
        let isSpaced = end < equals
        if end > 0, Self.isQuote(bytes[end - 1]) { end -= 1 }
        var start = end
        while start > 0, end - start < SecretNames.longest, Self.isOfName(bytes[start - 1]) { start -= 1 }
        let place: SecretNames.Location =
            switch start > 0 ? bytes[start - 1] : isQuery ? UInt8(ascii: "&") : 0 {
            case UInt8(ascii: "?"), UInt8(ascii: "&"), UInt8(ascii: "#"): .parameter
            default: .member
            }
        guard isSecret(start..<end, in: place) else { return nil }
        var first = equals + 1
        if first < bytes.count, bytes[first] == UInt8(ascii: ">") { first += 1 }
        while isSpaced, first < bytes.count, bytes[first] == 0x20 { first += 1 }
        guard first < bytes.count, Self.isQuote(bytes[first]) else { return first..<endOfWord(at: first) }
        let mark = endOfString(at: first)
        // A value that begins with a quotation mark but does not end with one continues after it, to the end of the
        // word.
        return first..<(mark < bytes.count && ",;}])".utf8.contains(bytes[mark]) ? mark : endOfWord(at: mark))
    }

    /// Matches `Bearer abc`: not "bearer token", which is prose, but a word that has a digit or is long.
    private func credential(after space: Int) -> Range<Int>? {
        var start = space
        while start > 0, space - start < 9, PercentEncoding.isAlphanumeric(bytes[start - 1]) { start -= 1 }
        guard start < space else { return nil }
        let scheme = String(decoding: bytes[start..<space].map(\.asciiLowercased), as: UTF8.self)
        let isBearer = scheme.hasSuffix("bearer")
        guard isBearer || ["basic", "dpop", "apikey", "negotiate", "ntlm"].contains(scheme) else { return nil }
        var first = space
        while first < bytes.count, bytes[first] == 0x20 { first += 1 }
        let word = first..<endOfWord(at: first)
        let end = word.first { "\"',;".utf8.contains(bytes[$0]) } ?? word.upperBound
        let hasDigit = bytes[first..<end].contains { (0x30...0x39).contains($0) }
        guard end - first > 16 || hasDigit && (isBearer || end - first >= 8) else { return nil }
        return first..<end
    }

    /// Matches `//user:password@host`.
    private func userInfo(after slash: Int) -> Range<Int>? {
        guard slash > 0, bytes[slash - 1] == UInt8(ascii: "/") else { return nil }
        let authority = bytes[(slash + 1)...].prefix { $0 >= 0x20 && !"/?#\"'<>\\ ".utf8.contains($0) }
        return authority.lastIndex(of: UInt8(ascii: "@")).map { slash + 1..<$0 }
    }

    /// Reads the text as a URL, valid or not: a password before the host may have a character that ends the host.
    func userInfoOfURL() -> Range<Int>? {
        // Most texts have none, and are read once.
        guard let lastAt = bytes.lastIndex(of: UInt8(ascii: "@")) else { return nil }
        let slashes = bytes.indices.dropLast().first { bytes[$0] == UInt8(ascii: "/") && bytes[$0 + 1] == bytes[$0] }
        let start = slashes.map { $0 + 2 } ?? 0
        guard start <= lastAt else { return nil }
        let authority = bytes[start...].prefix {
            $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#")
        }
        if let at = authority.lastIndex(of: UInt8(ascii: "@")) { return start..<at }
        // Text after a colon that is not a port may be the beginning of such a password.
        guard authority.first != UInt8(ascii: "["), let colon = authority.firstIndex(of: UInt8(ascii: ":")),
            !authority[(colon + 1)...].allSatisfy({ (0x30...0x39).contains($0) })
        else { return nil }
        return start..<lastAt
    }

    private func isSecret(_ name: Range<Int>, in place: SecretNames.Location) -> Bool {
        !name.isEmpty && names.contains(bytes[name], in: place)
    }
}

extension NamedSecrets {
    private func endOfValue(at start: Int) -> Int {
        guard start < bytes.count else { return start }
        switch bytes[start] {
        case UInt8(ascii: "\""), UInt8(ascii: "'"): return endOfString(at: start)
        case UInt8(ascii: "{"), UInt8(ascii: "["): return endOfContainer(at: start)
        default: return bytes[start...].firstIndex { ",}]<".utf8.contains($0) } ?? bytes.count
        }
    }

    private func endOfString(at start: Int) -> Int {
        var index = start + 1
        while index < bytes.count {
            if bytes[index] == bytes[start] { return index + 1 }
            index += bytes[index] == UInt8(ascii: "\\") ? 2 : 1
        }
        return bytes.count
    }

    private func endOfContainer(at start: Int) -> Int {
        var depth = 0
        var index = start
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "\""):
                index = endOfString(at: index)
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            default: break
            }
            index += 1
            if depth == 0 { return index }
        }
        return bytes.count
    }

    /// Returns the end of a word, which may have nearly any character.
    private func endOfWord(at start: Int) -> Int {
        bytes[start...].firstIndex { $0 <= 0x20 || "\"<>&\\".utf8.contains($0) } ?? bytes.count
    }

    private static func isOfName(_ byte: UInt8) -> Bool {
        PercentEncoding.isAlphanumeric(byte) || byte >= 0x80 || "_-.[]%+".utf8.contains(byte)
    }

    private static func isQuote(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
}
