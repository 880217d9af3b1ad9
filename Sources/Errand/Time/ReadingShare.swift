/// How long a stream may be read without a wait before the reader gives way to other tasks.
///
/// A server may send faster than a reader reads. Then the reader never waits, so its task would never leave its thread;
/// Swift has as many threads as the machine has processors, and with as many of such streams, no other task of the
/// program would run. So a reader counts what it has read, and yields after about a millisecond.
///
/// Looking at the clock costs as much as a short line, so the reader does that only once in a while. After a large
/// amount of work it yields whatever the clock says, because the clock of a test stands still.
struct ReadingShare: Sendable {
    private static let longest = Duration.milliseconds(1)
    /// The work between two looks at the clock. A line counts as one, and so do 64 bytes.
    private static let looks = 64
    /// A millisecond of lines that are empty, which are the fastest.
    private static let most = 1 << 14

    private var work = 0
    private var nextLook = Self.looks
    private var start: Instant?

    /// Counts a line of that many bytes. Returns whether it is time to look at the clock.
    mutating func needsLook(afterLineOf bytes: Int) -> Bool {
        work += 1 + (bytes >> 6)
        return work >= nextLook
    }

    /// Counts a chunk of that many bytes, which is handed on as it is.
    mutating func needsLook(afterChunkOf bytes: Int) -> Bool { needsLook(afterLineOf: bytes >> 4) }

    /// Returns whether the reader has to yield, and then begins the next share.
    mutating func isUsedUp(at now: Instant) -> Bool {
        let start = start ?? now
        guard work < Self.most, start.duration(to: now) < Self.longest else {
            self = ReadingShare()
            return true
        }
        (self.start, nextLook) = (start, work + Self.looks)
        return false
    }
}
