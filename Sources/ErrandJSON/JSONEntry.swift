/// One entry of the tape: a value, or the key of a member, in eight bytes.
///
/// The lowest four bits are the kind, the next 28 a length, and the upper 32 a place:
///
/// ```text
/// null, false, true        nothing else
/// numbers, texts           length and offset of the bytes in the document, quotes excluded
/// arrays, objects          number of elements or members; index of the entry after the last one
/// ```
///
/// A member of an object is the entry of its key, followed by the entries of its value. An entry is as long as the
/// shortest usual tokens with their separators, so that a tape has about the size of its document, and four times that
/// if the document consists of nothing but single digits.
struct JSONEntry {
    enum Kind: UInt8 {
        case null
        case no
        case yes
        /// A number that consists of digits, and possibly a sign.
        case integer
        /// Any other number. Its syntax has not been checked.
        case number
        /// A text that stands for itself, in ASCII.
        case ascii
        /// A text that stands for itself, and is not only ASCII. Its encoding has not been checked.
        case unicode
        /// A text with escape sequences or control characters. Neither these nor its encoding have been checked.
        case escaped
        case array
        /// An object all of whose keys are of the kind `ascii`.
        case object
        /// Any other object.
        case irregularObject
    }

    static let greatestLength = 1 << 28 - 1

    let bits: UInt64

    @inline(__always)
    init(bits: UInt64) { self.bits = bits }

    @inline(__always)
    init(_ kind: Kind, length: Int = 0, place: Int = 0) {
        bits = UInt64(kind.rawValue) | UInt64(truncatingIfNeeded: length) << 4 | UInt64(truncatingIfNeeded: place) << 32
    }

    @inline(__always)
    // Only the parser makes entries, from kinds.
    var kind: Kind { unsafeBitCast(UInt8(truncatingIfNeeded: bits & 0xF), to: Kind.self) }
    @inline(__always)
    var length: Int { Int(truncatingIfNeeded: (bits >> 4) & 0xFFF_FFFF) }
    @inline(__always)
    var place: Int { Int(truncatingIfNeeded: bits >> 32) }
    @inline(__always)
    var isContainer: Bool { bits & 0xF >= UInt64(Kind.array.rawValue) }
    @inline(__always)
    var isObject: Bool { bits & 0xF >= UInt64(Kind.object.rawValue) }
    @inline(__always)
    var isText: Bool { (UInt64(Kind.ascii.rawValue)...UInt64(Kind.escaped.rawValue)).contains(bits & 0xF) }
    @inline(__always)
    var isNull: Bool { bits & 0xF == UInt64(Kind.null.rawValue) }
}

extension JSONEntry.Kind {
    @inline(__always)
    var isContainer: Bool { rawValue >= Self.array.rawValue }
    /// Whether it is a number or a truth value.
    @inline(__always)
    var isPlain: Bool { rawValue >= Self.no.rawValue && rawValue <= Self.number.rawValue }

    /// The words for such a value in an error.
    var name: String {
        switch self {
        case .null: "null"
        case .no, .yes: "bool"
        case .integer, .number: "number"
        case .ascii, .unicode, .escaped: "a string"
        case .array: "an array"
        case .object, .irregularObject: "a dictionary"
        }
    }
}
