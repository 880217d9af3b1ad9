/// Long runs of combining marks, put into canonical order.
///
/// To compare or hash a text, the standard library sorts each run of combining marks by their class, in a time that
/// grows with the square of the run unless it is sorted already. A single key of a megabyte would occupy a thread for
/// minutes: as a key of a dictionary, as the raw value of an enumeration, or compared with the keys of a model. So the
/// decoder sorts such a run itself, and the client that of any text that it hands on. The text is equal to the one
/// before: canonical equivalence is what `String` compares.
package enum CombiningMarks {
    /// The number of marks in a row that stay as they are. They cost little, and no language needs more: Unicode's
    /// Stream-Safe Text Format has at most 30.
    static let longestUnsorted = 128
    /// The least number of bytes of a longer run: a mark has at least two.
    private static let distance = 2 * longestUnsorted

    /// Returns the text with its long runs sorted.
    @inline(__always)
    package static func sorted(_ text: String) -> String {
        text.utf8.count <= distance ? text : sortedLong(text)
    }

    /// Returns whether a text is long, and has text that is not ASCII where a run would be.
    package static func mayBeUnsorted(_ text: String) -> Bool {
        let bytes = text.utf8
        guard bytes.count > distance else { return false }
        // A longer run covers one of these places.
        return stride(from: distance / 2, to: bytes.count, by: distance).contains { place in
            bytes[bytes.index(bytes.startIndex, offsetBy: place)] >= 0x80
        }
    }

    @inline(never)
    private static func sortedLong(_ text: String) -> String {
        let scalars = text.unicodeScalars
        var (sorted, copied) = ("".unicodeScalars, scalars.startIndex)
        // No run continues over this place. A long run that begins after it reaches the sample.
        var place = scalars.startIndex
        while let sample = text.utf8.index(place, offsetBy: distance, limitedBy: scalars.endIndex),
            sample < scalars.endIndex
        {
            var end = scalars.index(after: sample)
            var start = scalars.index(before: end)
            guard isMark(scalars[start]) else {
                place = start
                continue
            }
            while start > place, isMark(scalars[scalars.index(before: start)]) { start = scalars.index(before: start) }
            while end < scalars.endIndex, isMark(scalars[end]) { end = scalars.index(after: end) }
            if text.utf8.distance(from: start, to: end) > distance {
                sorted += scalars[copied..<start]
                sorted += byClass(scalars[start..<end])
                copied = end
            }
            place = end
        }
        return copied == scalars.startIndex ? text : String(sorted + scalars[copied...])
    }

    /// The vowels of Tibetan that stand for two marks of different classes. They have no class themselves.
    private static func parts(of scalar: Unicode.Scalar) -> (Unicode.Scalar, Unicode.Scalar)? {
        switch scalar {
        case "\u{0F73}": ("\u{0F71}", "\u{0F72}")
        case "\u{0F75}": ("\u{0F71}", "\u{0F74}")
        case "\u{0F81}": ("\u{0F71}", "\u{0F80}")
        default: nil
        }
    }

    private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
        // The first mark of all is U+0300.
        scalar.value >= 0x300
            && (scalar.properties.canonicalCombiningClass != .notReordered || parts(of: scalar) != nil)
    }

    /// Marks of the same class keep their order.
    private static func byClass(_ run: Substring.UnicodeScalarView) -> [Unicode.Scalar] {
        var classes = [[Unicode.Scalar]](repeating: [], count: 256)
        func add(_ scalar: Unicode.Scalar) {
            classes[Int(scalar.properties.canonicalCombiningClass.rawValue)].append(scalar)
        }
        for scalar in run {
            guard let (first, second) = parts(of: scalar) else {
                add(scalar)
                continue
            }
            add(first)
            add(second)
        }
        return classes.flatMap(\.self)
    }
}
