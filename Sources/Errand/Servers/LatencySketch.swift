/// How long responses took, in a fixed size: a count for each eighth of a power of two nanoseconds, from 65 µs to
/// 275 s.
struct LatencySketch: Sendable, Hashable {
    private static let parts = 8
    private static let exponents = 16...37
    /// Then all counts are halved, so that old responses count ever less.
    private static let most = 1000

    private var counts = Array(repeating: UInt16(0), count: exponents.count * parts)
    private(set) var total = 0

    mutating func add(_ latency: Duration) {
        let nanoseconds = max(latency.wholeNanoseconds, 1 << Self.exponents.lowerBound)
        let exponent = Int64.bitWidth - 1 - nanoseconds.leadingZeroBitCount
        let part = Int(nanoseconds >> (exponent - 3)) - Self.parts
        let index = (exponent - Self.exponents.lowerBound) * Self.parts + part
        counts[min(index, counts.count - 1)] += 1
        total += 1
        guard total > Self.most else { return }
        for index in counts.indices { counts[index] /= 2 }
        total = counts.reduce(0) { $0 + Int($1) }
    }

    /// Returns a duration that at least that share of the responses did not exceed; `nil` if there is none.
    func duration(ofShare share: Double) -> Duration? {
        guard total > 0 else { return nil }
        let wanted = max(share * Double(total), 1)
        var sum = 0
        let index = counts.firstIndex { count in
            sum += Int(count)
            return Double(sum) >= wanted
        }
        // The end of what is counted together.
        let next = (index ?? counts.count - 1) + 1
        let (exponent, part) = next.quotientAndRemainder(dividingBy: Self.parts)
        return .nanoseconds(Int64(Self.parts + part) << (exponent + Self.exponents.lowerBound - 3))
    }
}
