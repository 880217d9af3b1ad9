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
        var text = text
        let sorted: [UInt8]? = text.withUTF8 { bytes in
            var (sorted, copied) = ([UInt8](), 0)
            // No run continues over this place. A long run that begins after it reaches the sample.
            var place = 0
            while place + distance < bytes.count {
                var start = place + distance
                while isContinuation(bytes[start]) { start -= 1 }
                guard isMark(UTF8.scalar(at: start, of: bytes)) else {
                    place = start
                    continue
                }
                while start > place {
                    var previous = start - 1
                    while isContinuation(bytes[previous]) { previous -= 1 }
                    guard isMark(UTF8.scalar(at: previous, of: bytes)) else { break }
                    start = previous
                }
                let (marks, end) = run(from: start, of: bytes)
                if end - start > distance {
                    sorted += bytes[copied..<start]
                    append(marks, to: &sorted)
                    copied = end
                }
                place = end
            }
            guard copied > 0 else { return nil }
            sorted += bytes[copied...]
            return sorted
        }
        return sorted.map { String(decoding: $0, as: UTF8.self) } ?? text
    }

    private static func isContinuation(_ byte: UInt8) -> Bool { byte & 0xC0 == 0x80 }

    /// The vowels of Tibetan that stand for two marks of different classes. They have no class themselves.
    private static func parts(of scalar: Unicode.Scalar) -> (Unicode.Scalar, Unicode.Scalar)? {
        switch scalar {
        case "\u{0F73}": ("\u{0F71}", "\u{0F72}")
        case "\u{0F75}": ("\u{0F71}", "\u{0F74}")
        case "\u{0F81}": ("\u{0F71}", "\u{0F80}")
        default: nil
        }
    }

    /// Returns the class of a mark; 0 for what is none.
    private static func combiningClass(of scalar: Unicode.Scalar) -> UInt8 {
        // The first mark of all is U+0300.
        scalar.value < 0x300 ? 0 : scalar.properties.canonicalCombiningClass.rawValue
    }

    private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
        combiningClass(of: scalar) != 0 || parts(of: scalar) != nil
    }

    private struct Mark {
        let scalar: Unicode.Scalar
        let combiningClass: UInt8
    }

    /// The classes of the scalars that were read last: looking one up takes much longer than everything else.
    private struct Classes {
        private var known = [Mark](repeating: Mark(scalar: "\0", combiningClass: 0), count: 256)

        mutating func mark(_ scalar: Unicode.Scalar) -> Mark {
            let place = Int(scalar.value & 255)
            if known[place].scalar != scalar {
                known[place] = Mark(scalar: scalar, combiningClass: CombiningMarks.combiningClass(of: scalar))
            }
            return known[place]
        }
    }

    /// Returns the marks in a row from there on, and the place behind them.
    private static func run(from start: Int, of bytes: UnsafeBufferPointer<UInt8>) -> (marks: [Mark], end: Int) {
        var (marks, end, classes) = ([Mark](), start, Classes())
        while end < bytes.count {
            let mark = classes.mark(UTF8.scalar(at: end, of: bytes))
            if mark.combiningClass != 0 {
                marks.append(mark)
            } else if let (first, second) = parts(of: mark.scalar) {
                marks.append(classes.mark(first))
                marks.append(classes.mark(second))
            } else {
                break
            }
            end += UTF8.width(mark.scalar)
        }
        return (marks, end)
    }

    /// Appends marks by their class. Marks of the same class keep their order.
    private static func append(_ marks: [Mark], to bytes: inout [UInt8]) {
        var places = [Int](repeating: 0, count: 257)
        for mark in marks { places[Int(mark.combiningClass) + 1] += 1 }
        for place in 1..<257 { places[place] += places[place - 1] }
        var sorted = marks
        for mark in marks {
            let place = Int(mark.combiningClass)
            sorted[places[place]] = mark
            places[place] += 1
        }
        // No scalar takes more than four bytes.
        bytes += [UInt8](unsafeUninitializedCapacity: 4 * sorted.count) { buffer, count in
            guard let start = buffer.baseAddress else { return }
            var out = start
            for mark in sorted { UTF8.write(mark.scalar.value, to: &out) }
            count = out - start
        }
    }
}
