/// The checksum XXH64, for files that a disk may damage.
///
/// It reads several gigabytes per second, so that checking a body takes less time than reading it. It is no protection
/// from people: who may write to a file can write its checksum too.
///
/// <https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md>
package enum Checksum {
    private static let primes: (UInt64, UInt64, UInt64, UInt64, UInt64) = (
        0x9E37_79B1_85EB_CA87, 0xC2B2_AE3D_27D4_EB4F, 0x1656_67B1_9E37_79F9, 0x85EB_CA77_C2B2_AE63,
        0x27D4_EB2F_1656_67C5
    )

    static func of(_ text: String, seed: UInt64) -> UInt64 {
        var text = text
        return text.withUTF8 { of(UnsafeRawBufferPointer($0), seed: seed) }
    }

    package static func of(_ bytes: UnsafeRawBufferPointer, seed: UInt64) -> UInt64 {
        let count = bytes.count
        var at = 0
        var sum: UInt64
        if count >= 32 {
            var (a, b) = (seed &+ primes.0 &+ primes.1, seed &+ primes.1)
            var (c, d) = (seed, seed &- primes.0)
            while count - at >= 32 {
                a = round(a, word(bytes, at))
                b = round(b, word(bytes, at &+ 8))
                c = round(c, word(bytes, at &+ 16))
                d = round(d, word(bytes, at &+ 24))
                at &+= 32
            }
            sum = rotated(a, 1) &+ rotated(b, 7) &+ rotated(c, 12) &+ rotated(d, 18)
            for lane in [a, b, c, d] { sum = (sum ^ round(0, lane)) &* primes.0 &+ primes.3 }
        } else {
            sum = seed &+ primes.4
        }
        sum &+= UInt64(count)
        while count - at >= 8 {
            sum = rotated(sum ^ round(0, word(bytes, at)), 27) &* primes.0 &+ primes.3
            at &+= 8
        }
        if count - at >= 4 {
            let half = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: at, as: UInt32.self))
            sum = rotated(sum ^ UInt64(half) &* primes.0, 23) &* primes.1 &+ primes.2
            at &+= 4
        }
        while at < count {
            sum = rotated(sum ^ UInt64(bytes[at]) &* primes.4, 11) &* primes.0
            at &+= 1
        }
        sum = (sum ^ sum &>> 33) &* primes.1
        sum = (sum ^ sum &>> 29) &* primes.2
        return sum ^ sum &>> 32
    }

    @inline(__always)
    private static func word(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> UInt64 {
        UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    @inline(__always)
    private static func round(_ sum: UInt64, _ word: UInt64) -> UInt64 {
        rotated(sum &+ word &* primes.1, 31) &* primes.0
    }

    @inline(__always)
    private static func rotated(_ word: UInt64, _ count: UInt64) -> UInt64 {
        word &<< count | word &>> (64 &- count)
    }
}
