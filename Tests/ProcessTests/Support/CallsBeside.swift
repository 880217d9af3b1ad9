#if os(Linux)
import ErrandTestSupport
import Testing

/// What a `TransportProbe` prints about its calls to another server.
enum CallsBeside {
    /// Expects that calls were made, and none failed; in a long run, also how long they took, which a busy machine
    /// must not decide otherwise.
    static func expect(_ lines: [String]) {
        let words = lines.last { $0.hasPrefix("calls ") }?.split(separator: " ").compactMap { Int($0) } ?? []
        #expect(words.count == 3 && words.first ?? 0 > 0, "\(lines)")
        guard words.count == 3, LongRun.isWanted else { return }
        #expect(words[1] < 100 && words[2] < 500, "milliseconds at the median and at most: \(lines)")
    }
}
#endif
