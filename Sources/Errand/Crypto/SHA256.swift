#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

/// The hash function SHA-256 (FIPS 180-4), for the digests of files, the challenge of a sign-in, and `SigningSecret`.
///
/// Written here because Linux has no library for it that comes with Swift. Its steps depend on the number of bytes
/// only, so the time that it takes says nothing about a secret. It clears no memory.
package struct SHA256: Sendable {
    /// The number of bytes in a block.
    static let block = 64

    /// The fractional parts of the cube roots of the first 64 primes.
    private static let constants: [UInt32] = [
        0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
        0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
        0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
        0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
        0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
        0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
        0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
        0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
    ]

    /// The eight words of the state; at first the fractional parts of the square roots of the first 8 primes.
    private var state: [UInt32] = [
        0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19,
    ]
    /// The bytes that do not fill a block yet.
    private var pending: [UInt8] = []
    /// The number of bytes so far.
    package private(set) var count = 0

    package init() {}

    /// Returns the hash of those bytes.
    package static func hash(of data: Data) -> [UInt8] {
        var hash = SHA256()
        hash.append(data)
        return hash.finalized()
    }

    /// Adds bytes.
    package mutating func append(_ data: Data) {
        data.withUnsafeBytes { append($0) }
    }

    /// Adds bytes.
    package mutating func append(_ bytes: UnsafeRawBufferPointer) {
        count += bytes.count
        var rest = bytes[...]
        if !pending.isEmpty {
            let missing = rest.prefix(Self.block - pending.count)
            pending += missing
            rest = rest.dropFirst(missing.count)
            guard pending.count == Self.block else { return }
            let full = pending
            full.withUnsafeBytes { compress($0) }
            pending = []
        }
        let whole = rest.count / Self.block * Self.block
        compress(UnsafeRawBufferPointer(rebasing: rest.prefix(whole)))
        pending = Array(rest.dropFirst(whole))
    }

    /// Returns the hash, 32 bytes, of all bytes so far.
    package func finalized() -> [UInt8] {
        var copy = self
        let zeros = (Self.block * 2 - 9 - count % Self.block) % Self.block
        let length = UInt64(count) &* 8
        let end = [0x80] + [UInt8](repeating: 0, count: zeros) + Self.bigEndian(length)
        end.withUnsafeBytes { copy.append($0) }
        return copy.state.flatMap(Self.bigEndian)
    }

    private static func bigEndian<Word: FixedWidthInteger>(_ word: Word) -> [UInt8] {
        withUnsafeBytes(of: word.bigEndian) { Array($0) }
    }

    /// Adds whole blocks.
    private mutating func compress(_ bytes: UnsafeRawBufferPointer) {
        guard !bytes.isEmpty else { return }
        Self.constants.withUnsafeBufferPointer { constants in
            state.withUnsafeMutableBufferPointer { state in
                withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 64) { words in
                    for start in stride(from: 0, to: bytes.count, by: Self.block) {
                        Self.compress(bytes, from: start, into: state, words, constants)
                    }
                }
            }
        }
    }

    /// Adds one block. Buffers instead of arrays, because each of its 64 rounds would check bounds and references.
    @inline(__always)
    private static func compress(
        _ bytes: UnsafeRawBufferPointer, from start: Int, into state: UnsafeMutableBufferPointer<UInt32>,
        _ words: UnsafeMutableBufferPointer<UInt32>, _ constants: UnsafeBufferPointer<UInt32>
    ) {
        for index in 0..<16 {
            words[index] = UInt32(
                bigEndian: bytes.loadUnaligned(fromByteOffset: start &+ index &* 4, as: UInt32.self))
        }
        for index in 16..<64 {
            let (early, late) = (words[index &- 15], words[index &- 2])
            let first = rotated(early, 7) ^ rotated(early, 18) ^ early &>> 3
            let second = rotated(late, 17) ^ rotated(late, 19) ^ late &>> 10
            words[index] = words[index &- 16] &+ first &+ words[index &- 7] &+ second
        }
        var (a, b, c, d) = (state[0], state[1], state[2], state[3])
        var (e, f, g, h) = (state[4], state[5], state[6], state[7])
        for index in 0..<64 {
            let choice = g ^ (e & (f ^ g))
            let majority = (a & b) | (c & (a | b))
            let first =
                h &+ (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) &+ choice &+ constants[index]
                &+ words[index]
            let second = (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) &+ majority
            (h, g, f, e, d, c, b, a) = (g, f, e, d &+ first, c, b, a, first &+ second)
        }
        state[0] &+= a
        state[1] &+= b
        state[2] &+= c
        state[3] &+= d
        state[4] &+= e
        state[5] &+= f
        state[6] &+= g
        state[7] &+= h
    }

    @inline(__always)
    private static func rotated(_ word: UInt32, _ count: UInt32) -> UInt32 {
        word &>> count | word &<< (32 &- count)
    }
}
