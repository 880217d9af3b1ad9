/// Text, compared in bytes.
///
/// The standard library compares, searches and hashes text by canonical equivalence. To do so it sorts each run of
/// combining marks, in a time that grows with the square of the run. A header field of 90 KB of marks that is compared
/// with three letters takes seconds of a thread, and no deadline interrupts them. HTTP, URLs, cookies and OAuth compare
/// bytes anyway: an equals sign with an accent is still an equals sign.
///
/// So these declarations have the names and the signatures of the standard library's, and hide them in this module:
/// `a == b`, `text.hasPrefix("W/")` and `text.split(separator: ",")` read bytes here, in every file, and take time in
/// proportion to them (C97).
///
/// Generic code does not see them: the elements of a set, the keys of a dictionary, arrays of text, `sorted()`. What
/// comes from outside gets there as ASCII only, or with its marks in order, which is fast enough: the decoder of JSON
/// and ``Sender`` see to that. `.ci/bytes` checks what it can.
extension StringProtocol {
    static func == <Other: StringProtocol>(left: Self, right: Other) -> Bool { left.hasSameBytes(as: right) }
    static func != <Other: StringProtocol>(left: Self, right: Other) -> Bool { !left.hasSameBytes(as: right) }

    func hasPrefix<Prefix: StringProtocol>(_ prefix: Prefix) -> Bool { utf8.starts(with: prefix.utf8) }

    func hasSuffix<Suffix: StringProtocol>(_ suffix: Suffix) -> Bool {
        bytes.suffix(suffix.utf8.count).elementsEqual(suffix.utf8)
    }

    fileprivate var bytes: Substring.UTF8View { Substring(self).utf8 }

    /// Returns whether the texts are equal, byte by byte.
    @inline(__always)
    fileprivate func hasSameBytes(as other: some StringProtocol) -> Bool {
        guard utf8.count == other.utf8.count else { return false }
        // `nil` for a text that is not kept as UTF-8, which a framework of Apple's may have made.
        let areEqual = utf8.withContiguousStorageIfAvailable { left in
            other.utf8.withContiguousStorageIfAvailable { right in
                left.baseAddress == right.baseAddress || left.elementsEqual(right)
            }
        }
        return areEqual.flatMap(\.self) ?? utf8.elementsEqual(other.utf8)
    }
}

extension String {
    static func == (left: String, right: String) -> Bool { left.hasSameBytes(as: right) }
    static func != (left: String, right: String) -> Bool { !left.hasSameBytes(as: right) }

    func hasPrefix(_ prefix: String) -> Bool { utf8.starts(with: prefix.utf8) }
    func hasSuffix(_ suffix: String) -> Bool { utf8.suffix(suffix.utf8.count).elementsEqual(suffix.utf8) }
}

extension Substring {
    static func == (left: Substring, right: Substring) -> Bool { left.hasSameBytes(as: right) }
    static func != (left: Substring, right: Substring) -> Bool { !left.hasSameBytes(as: right) }
}

// Of optionals, these are functions, and some have a second parameter that is none: otherwise the compiler would choose
// the generic operator of `Equatable` where a literal is compared.

func == (left: String?, right: String?) -> Bool {
    switch (left, right) {
    case (let left?, let right?): left.hasSameBytes(as: right)
    case (nil, nil): true
    case (nil, _?), (_?, nil): false
    }
}
func != (left: String?, right: String?) -> Bool { !(left == right) }

func == (left: String?, right: String) -> Bool { left.map { $0.hasSameBytes(as: right) } ?? false }
func != (left: String?, right: String) -> Bool { !(left == right) }
func == (left: Substring?, right: String) -> Bool { left.map { $0.hasSameBytes(as: right) } ?? false }
func != (left: Substring?, right: String) -> Bool { !(left == right) }

/// The cases of a `switch` over text.
func ~= (pattern: String, text: String) -> Bool { pattern.hasSameBytes(as: text) }
func ~= (pattern: String?, text: String?) -> Bool { pattern == text }
func ~= (pattern: Substring, text: Substring) -> Bool { pattern.hasSameBytes(as: text) }

extension Sequence where Element == String {
    func contains(_ text: String) -> Bool { contains { $0.hasSameBytes(as: text) } }
}

extension Sequence where Element == Substring {
    func contains(_ text: Substring) -> Bool { contains { $0.hasSameBytes(as: text) } }
}

// MARK: Characters

extension StringProtocol {
    func contains(_ character: Character) -> Bool { firstIndex(of: character) != nil }

    func firstIndex(of character: Character) -> Index? {
        guard let byte = character.onlyByte else { return firstRange(of: String(character))?.lowerBound }
        return bytes.firstIndex(of: byte)
    }

    func lastIndex(of character: Character) -> Index? {
        guard let byte = character.onlyByte else { return lastIndex(ofBytes: Array(character.utf8)) }
        return bytes.lastIndex(of: byte)
    }

    /// Returns the text before the first of these characters, which are of ASCII; all of it if it has none of them.
    func prefix(before ends: StaticString) -> SubSequence {
        self[startIndex..<(firstIndex(of: ends) ?? endIndex)]
    }

    /// Returns the text from the first of these characters on, which are of ASCII; none of it if it has none of them.
    func drop(before ends: StaticString) -> SubSequence {
        self[(firstIndex(of: ends) ?? endIndex)...]
    }

    private func firstIndex(of ends: StaticString) -> Index? {
        bytes.firstIndex { byte in ends.withUTF8Buffer { $0.contains(byte) } }
    }

    func split(
        separator: Character, maxSplits: Int = .max, omittingEmptySubsequences: Bool = true
    ) -> [SubSequence] {
        var (parts, rest) = ([SubSequence](), self[...])
        func add(_ part: SubSequence) {
            if !omittingEmptySubsequences || !part.isEmpty { parts.append(part) }
        }
        while parts.count < maxSplits, let start = rest.firstIndex(of: separator) {
            add(self[rest.startIndex..<start])
            rest = self[utf8.index(start, offsetBy: separator.utf8.count)...]
        }
        add(rest)
        return parts
    }
}

extension Character {
    /// The byte of a character of ASCII; `nil` for any other, and for a line break of two bytes.
    fileprivate var onlyByte: UInt8? { utf8.count == 1 ? utf8.first : nil }
}

// MARK: Bytes

extension Substring.UTF8View {
    // Faster than the standard library's, which ask for each byte how the text is stored.

    func contains(_ byte: UInt8) -> Bool { firstIndex(of: byte) != nil }

    func firstIndex(of byte: UInt8) -> Index? { firstIndex { $0 == byte } }

    @inline(__always)
    func firstIndex(where isSought: (UInt8) -> Bool) -> Index? { firstIndex(found: { $0.firstIndex(where: isSought) }) }

    /// Returns the place that a closure finds, given as its distance from the first byte.
    @inline(__always)
    func firstIndex(found: (UnsafeBufferPointer<UInt8>) -> Int?) -> Index? {
        let distance = withContiguousStorageIfAvailable(found) ?? Array(self).withUnsafeBufferPointer(found)
        return distance.map { index(startIndex, offsetBy: $0) }
    }

    @inline(__always)
    func allSatisfy(_ isRight: (UInt8) -> Bool) -> Bool { firstIndex { !isRight($0) } == nil }
}

// MARK: Search

extension String {
    func contains(_ other: String) -> Bool { firstRange(of: other) != nil }
}

extension Substring {
    func contains(_ other: String) -> Bool { firstRange(of: other) != nil }
}

extension StringProtocol {
    /// Returns the place of the other text, which is short: it is compared at each place where its first byte is.
    func firstRange(of other: some StringProtocol) -> Range<Index>? {
        let sought = Array(other.utf8)
        guard let first = sought.first else { return startIndex..<startIndex }
        var rest = bytes
        while let start = rest.firstIndex(of: first) {
            rest = rest[start...]
            if rest.starts(with: sought) { return start..<rest.index(start, offsetBy: sought.count) }
            rest = rest.dropFirst()
        }
        return nil
    }

    private func lastIndex(ofBytes sought: [UInt8]) -> Index? {
        let bytes = bytes
        return bytes.indices.last { bytes[$0...].starts(with: sought) }
    }
}

extension Hasher {
    /// Hashes what `==` compares.
    mutating func combine(bytesOf text: String) {
        combine(text.utf8.count)
        var text = text
        text.withUTF8 { combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}

extension RangeReplaceableCollection where Self: StringProtocol {
    func replacing(_ other: String, with replacement: String) -> Self {
        var (bytes, rest) = ([UInt8](), self[...])
        while !other.isEmpty, let found = rest.firstRange(of: other) {
            bytes += rest[..<found.lowerBound].utf8
            bytes += replacement.utf8
            rest = rest[found.upperBound...]
        }
        bytes += rest.utf8
        return Self(decoding: bytes, as: UTF8.self)
    }
}
