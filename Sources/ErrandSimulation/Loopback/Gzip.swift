#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Writes gzip (RFC 1952) without a compressor: stored bytes, and bombs.
enum Gzip {
    private static let largestStored = 65_535

    /// Returns the bytes in stored, uncompressed blocks (RFC 1951, 3.2.4).
    static func stored(_ bytes: Data) -> Data {
        var deflated = Data()
        var rest = bytes[...]
        repeat {
            let block = rest.prefix(largestStored)
            rest = rest.dropFirst(largestStored)
            let length = UInt16(block.count)
            deflated.append(rest.isEmpty ? 1 : 0)
            deflated.append(littleEndian: length)
            deflated.append(littleEndian: ~length)
            deflated += block
        } while !rest.isEmpty
        var checksum = CRC32()
        for byte in bytes { checksum.take(byte) }
        return wrapped(deflated, count: bytes.count, checksum: checksum)
    }

    /// Returns `count` zeros in one block with the fixed code (RFC 1951, 3.2.6). There, "repeat the last byte 258
    /// times" takes 13 bits: the length 258 is `11000101`, the distance 1 is `00000`. So eight of them are 13 bytes,
    /// which repeat.
    static func zeros(_ count: Int) -> Data {
        guard count > 0 else { return stored(Data()) }
        let (runs, single) = (count - 1).quotientAndRemainder(dividingBy: longestRun)
        var bits = BitWriter()
        bits.write(0b1, 1)  // the last block
        bits.write(1, 2)  // the fixed code
        for _ in 0..<single + 1 { bits.writeZero() }
        for _ in 0..<runs % 8 { bits.writeRun() }
        bits.repeatEightRuns(runs / 8)
        bits.write(0, 7)  // the end of the block
        var checksum = CRC32()
        checksum.take(zeros: count)
        return wrapped(bits.finished, count: count, checksum: checksum)
    }

    private static let longestRun = 258

    private static func wrapped(_ deflated: Data, count: Int, checksum: CRC32) -> Data {
        var file = Data([0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255]) + deflated
        file.append(littleEndian: checksum.value)
        file.append(littleEndian: UInt32(truncatingIfNeeded: count))
        return file
    }
}

/// Writes bits into bytes, the least significant first.
private struct BitWriter {
    private var bytes = Data()
    private var pending: UInt64 = 0
    private var count = 0

    var finished: Data { count > 0 ? bytes + [UInt8(truncatingIfNeeded: pending)] : bytes }

    mutating func write(_ bits: UInt64, _ width: Int) {
        pending |= bits << UInt64(count)
        count += width
        while count >= 8 {
            bytes.append(UInt8(truncatingIfNeeded: pending))
            pending >>= 8
            count -= 8
        }
    }

    /// Writes the literal 0, `00110000`, whose first bit comes first.
    mutating func writeZero() { write(0b0000_1100, 8) }
    /// Writes the length 258 and the distance 1, whose first bits come first.
    mutating func writeRun() { write(0b00000_1010_0011, 13) }

    /// Writes eight runs, `times` times: the same 13 bytes each time, once no earlier bits are pending.
    mutating func repeatEightRuns(_ times: Int) {
        guard times > 0 else { return }
        for _ in 0..<8 { writeRun() }
        guard times > 1 else { return }
        let start = bytes.count
        for _ in 0..<8 { writeRun() }
        let period = [UInt8](bytes[start...])
        // A thousand at a time: a bomb has a hundred thousand of them.
        let (thousands, rest) = (times - 2).quotientAndRemainder(dividingBy: 1000)
        let thousand = Data(repeatElement(period, count: 1000).joined())
        for _ in 0..<thousands { bytes += thousand }
        for _ in 0..<rest { bytes += period }
    }
}

/// The checksum of gzip (RFC 1952, 8).
private struct CRC32 {
    private var state = UInt32.max

    var value: UInt32 { ~state }

    mutating func take(_ byte: UInt8) {
        state = Self.afterByte(state ^ UInt32(byte))
    }

    /// Adds `count` zeros. A zero changes the state linearly, so two zeros apply the change to itself: the number of
    /// steps is the number of bits in `count`.
    mutating func take(zeros count: Int) {
        var change = (0..<32).map { Self.afterByte(1 << UInt32($0)) }
        var left = count
        while left > 0 {
            if left & 1 == 1 { state = Self.apply(change, to: state) }
            change = change.map { Self.apply(change, to: $0) }
            left >>= 1
        }
    }

    private static func afterByte(_ state: UInt32) -> UInt32 {
        (0..<8).reduce(state) { state, _ in state & 1 == 1 ? state >> 1 ^ 0xEDB8_8320 : state >> 1 }
    }

    private static func apply(_ change: [UInt32], to state: UInt32) -> UInt32 {
        (0..<32).reduce(0) { sum, bit in state >> UInt32(bit) & 1 == 1 ? sum ^ change[bit] : sum }
    }
}

extension Data {
    fileprivate mutating func append(littleEndian number: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: number.littleEndian) { append(contentsOf: $0) }
    }
}
