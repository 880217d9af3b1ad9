/// The sleep until the earliest alarm, and its task, as a value.
///
/// Starting a sleep takes two steps: it begins, so that no other thread begins one as well, and its task is kept once
/// there is one. Between them anything may happen: an earlier alarm may replace the sleep, or its task may wake, fire
/// and begin the next sleep. So every sleep has a number of its own. Their ends do not distinguish them: two sleeps can
/// end at the same instant, and if the task of one were kept for the other, no sleep would be left, and no alarm would
/// ever fire again.
///
/// States: no sleep, begun without its task, begun with its task.
struct Sleeper<Work: Sendable>: Sendable {
    private struct Sleep: Sendable {
        var number: UInt64
        var end: Instant
        var task: Work?
    }

    private var current: Sleep?
    private var lastNumber: UInt64 = 0

    /// Begins a sleep, unless the current one ends by then. Returns its number and the task of the sleep it replaces,
    /// which has to be canceled.
    mutating func begin(until instant: Instant) -> (number: UInt64, replaced: Work?)? {
        if let current, current.end <= instant { return nil }
        lastNumber += 1
        defer { current = Sleep(number: lastNumber, end: instant) }
        return (lastNumber, current?.task)
    }

    /// Keeps the task of a sleep. Returns `false` if that sleep has ended or was replaced: its task is not needed.
    mutating func keep(_ task: Work, of number: UInt64) -> Bool {
        guard current?.number == number else { return false }
        current?.task = task
        return true
    }

    /// Ends a sleep. Returns `false` if it was replaced: the alarms are another one's.
    mutating func end(_ number: UInt64) -> Bool {
        guard current?.number == number else { return false }
        current = nil
        return true
    }
}
