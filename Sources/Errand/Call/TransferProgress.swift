/// How much of a body has been sent or received.
public struct TransferProgress: Sendable, Hashable {
    /// The number of bytes so far. It goes back only when ``attempt`` grows.
    public let bytes: Int
    /// The number of bytes in the whole body; `nil` if it is not known.
    public let total: Int?
    /// For an upload, the number of the send, from 1: a retry, a replay after a 401 and a redirect send the body again.
    /// For a download, the number of the attempt, from 1.
    public let attempt: Int

    /// Creates a value, for a preview or a test of your own.
    public init(bytes: Int, total: Int? = nil, attempt: Int = 1) {
        self.bytes = bytes
        self.total = total
        self.attempt = attempt
    }

    /// The part of the body, from 0 to 1; `nil` if the number of bytes in the whole body is not known.
    public var fraction: Double? {
        guard let total else { return nil }
        return total > 0 ? min(Double(bytes) / Double(total), 1) : 1
    }
}

/// Lets progress through at most ten times a second, which is as often as a person can read it.
///
/// The end of a transfer is reported whether or not the throttle would allow it.
struct ProgressThrottle: Sendable {
    private static let interval = Duration.milliseconds(100)

    private var last: Instant?

    init() {}

    /// Returns whether progress may be reported now. The first time it may.
    mutating func allows(at now: Instant) -> Bool {
        if let last, last.duration(to: now) < Self.interval { return false }
        last = now
        return true
    }
}
