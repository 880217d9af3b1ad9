/// Finds out in real time whether anything still happens.
///
/// Real time alone would be no proof: on a busy machine a test may not run for many seconds. So the timeout is divided
/// into ten pauses. After each, the watching task is queued behind all tasks that were ready before it,
/// and looks at the progress; ten looks in a row without any mean that nothing happens. A process that is stopped, for
/// example in a debugger, does not look.
struct QuietTime<Progress: Equatable> {
    private static var looks: Int { 10 }

    private let timeout: Duration
    private var last: Progress?
    private var quietLooks = 0

    /// Creates a watch that takes `timeout` without progress for a standstill.
    init(timeout: Duration) {
        self.timeout = timeout
    }

    /// The pause before the next look.
    var pause: Duration { timeout / Self.looks }
    /// Whether nothing has happened since the last look.
    var isQuiet: Bool { quietLooks > 0 }
    /// Whether nothing has happened for the whole timeout. `true` at one look only.
    var isOver: Bool { quietLooks == Self.looks }

    /// Looks whether anything has happened.
    ///
    /// - Parameters:
    ///   - progress: What changes whenever something happens.
    ///   - isBusy: Whether something is happening now, although nothing has changed.
    mutating func look(at progress: Progress, isBusy: Bool = false) {
        quietLooks = progress == last && !isBusy ? quietLooks + 1 : 0
        last = progress
    }
}
