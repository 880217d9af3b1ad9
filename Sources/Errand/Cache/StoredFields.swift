/// A file of the cache that is not what this version writes.
struct DamagedEntry: Error {}

/// Writes numbers and texts one after the other.
struct StoredFieldWriter {
    private(set) var bytes: [UInt8] = []

    mutating func add(_ number: some FixedWidthInteger) {
        withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
    }

    mutating func add(_ number: Double) { add(number.bitPattern) }

    mutating func add(_ isSo: Bool) { bytes.append(isSo ? 1 : 0) }

    mutating func add(_ text: String) {
        add(UInt32(clamping: text.utf8.count))
        bytes.append(contentsOf: text.utf8)
    }

    mutating func add(_ text: String?) {
        add(text != nil)
        if let text { add(text) }
    }

    mutating func add(_ texts: [String]) {
        add(UInt32(clamping: texts.count))
        for text in texts { add(text) }
    }
}

/// Reads what `StoredFieldWriter` has written. Whatever the bytes are, it reads nothing beyond them, and allocates no
/// more than they take.
struct StoredFieldReader {
    private let bytes: UnsafeRawBufferPointer
    private var at = 0

    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    var isAtEnd: Bool { at == bytes.count }

    mutating func number<Number: FixedWidthInteger>(_: Number.Type = Number.self) throws(DamagedEntry) -> Number {
        let start = try skip(MemoryLayout<Number>.size)
        return Number(littleEndian: bytes.loadUnaligned(fromByteOffset: start, as: Number.self))
    }

    /// Reads a number that is finite.
    mutating func decimal() throws(DamagedEntry) -> Double {
        let number = Double(bitPattern: try number())
        guard number.isFinite else { throw DamagedEntry() }
        return number
    }

    mutating func boolean() throws(DamagedEntry) -> Bool {
        let byte: UInt8 = try number()
        guard byte <= 1 else { throw DamagedEntry() }
        return byte == 1
    }

    mutating func text() throws(DamagedEntry) -> String {
        let count: UInt32 = try number()
        let start = try skip(Int(count))
        guard let text = String(validating: bytes[start..<at], as: UTF8.self) else { throw DamagedEntry() }
        return text
    }

    mutating func optionalText() throws(DamagedEntry) -> String? {
        try boolean() ? try text() : nil
    }

    mutating func texts() throws(DamagedEntry) -> [String] {
        let count: UInt32 = try number()
        var texts: [String] = []
        for _ in 0..<count { texts.append(try text()) }
        return texts
    }

    /// Returns where the next bytes begin.
    private mutating func skip(_ count: Int) throws(DamagedEntry) -> Int {
        guard count <= bytes.count - at else { throw DamagedEntry() }
        defer { at += count }
        return at
    }
}
