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
                place = appendRun(from: start, of: bytes, after: &copied, to: &sorted)
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
        var scalar: Unicode.Scalar = "\0"
        var combiningClass: UInt8 = 0
    }

    /// The classes of the scalars that were read last: looking one up takes much longer than everything else.
    private struct Classes {
        private let known: UnsafeMutableBufferPointer<Mark>

        init(in memory: UnsafeMutableBufferPointer<Mark>) {
            known = memory
            known.initialize(repeating: Mark())
        }

        static let size = 256

        func of(_ scalar: Unicode.Scalar) -> UInt8 {
            let place = Int(scalar.value) & (Self.size - 1)
            if known[place].scalar != scalar {
                known[place] = Mark(scalar: scalar, combiningClass: CombiningMarks.combiningClass(of: scalar))
            }
            return known[place].combiningClass
        }
    }

    /// Calls the closure with each of the marks in a row from there on, and returns the place behind them.
    @inline(__always)
    private static func forEachMark(
        from start: Int, of bytes: UnsafeBufferPointer<UInt8>, _ classes: Classes, do body: (Mark) -> Void
    ) -> Int {
        var end = start
        while end < bytes.count {
            let scalar = UTF8.scalar(at: end, of: bytes)
            let combiningClass = classes.of(scalar)
            if combiningClass != 0 {
                body(Mark(scalar: scalar, combiningClass: combiningClass))
            } else if let (first, second) = parts(of: scalar) {
                body(Mark(scalar: first, combiningClass: classes.of(first)))
                body(Mark(scalar: second, combiningClass: classes.of(second)))
            } else {
                break
            }
            end += UTF8.width(scalar)
        }
        return end
    }

    /// If many marks are in a row from there on, appends them by their class, after the text before them from `copied`
    /// on. Marks of the same class keep their order. Returns the place behind them.
    private static func appendRun(
        from start: Int, of bytes: UnsafeBufferPointer<UInt8>, after copied: inout Int, to sorted: inout [UInt8]
    ) -> Int {
        withUnsafeTemporaryAllocation(of: Mark.self, capacity: Classes.size) { memory in
            // Where the marks of each class begin, in bytes.
            withUnsafeTemporaryAllocation(of: Int.self, capacity: 257) { places in
                let classes = Classes(in: memory)
                places.initialize(repeating: 0)
                let end = forEachMark(from: start, of: bytes, classes) { mark in
                    places[Int(mark.combiningClass) + 1] += UTF8.width(mark.scalar)
                }
                guard end - start > distance else { return end }
                for place in 1..<257 { places[place] += places[place - 1] }
                let size = places[256]
                sorted += bytes[copied..<start]
                sorted += [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
                    count = size
                    guard let out = buffer.baseAddress else { return }
                    _ = forEachMark(from: start, of: bytes, classes) { mark in
                        var place = out + places[Int(mark.combiningClass)]
                        UTF8.write(mark.scalar.value, to: &place)
                        places[Int(mark.combiningClass)] = place - out
                    }
                }
                copied = end
                return end
            }
        }
    }
}
