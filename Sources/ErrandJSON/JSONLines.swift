/// The lines of a document, for the positions of faults.
///
/// A model that tries one type after the other may cause a fault at every value. So that the document is not counted
/// from its beginning for each of them, the line is noted at every 256th byte, as far as a position has been asked for.
struct JSONLines {
    private static let distance = 256

    /// For each of these bytes, the number of lines before its own, and the offset at which its own begins.
    private var marks: [(line: UInt32, start: UInt32)] = [(0, 0)]

    /// Returns the line and column of an offset, counted in bytes from one.
    mutating func position(of offset: Int, in bytes: UnsafeBufferPointer<UInt8>) -> (line: Int, column: Int) {
        while marks.count <= offset / Self.distance {
            let place = marks.count * Self.distance
            marks.append(Self.line(after: marks[marks.count - 1], in: bytes[place - Self.distance..<place]))
        }
        let place = offset / Self.distance * Self.distance
        let line = Self.line(after: marks[place / Self.distance], in: bytes[place..<offset])
        return (Int(line.line) + 1, offset - Int(line.start) + 1)
    }

    private static func line(
        after mark: (line: UInt32, start: UInt32), in bytes: Slice<UnsafeBufferPointer<UInt8>>
    ) -> (line: UInt32, start: UInt32) {
        var (line, start) = mark
        for index in bytes.indices where bytes[index] == UInt8(ascii: "\n") {
            line += 1
            // A document has less than 4 GiB.
            start = UInt32(truncatingIfNeeded: index + 1)
        }
        return (line, start)
    }
}
