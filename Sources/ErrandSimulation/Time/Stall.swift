import Errand

extension TestClock {
    /// What changes whenever something happens in the clock's time.
    private struct Progress: Equatable {
        var now: Instant
        var insertions: UInt64
        var alarms: Int
    }

    private var progress: Progress {
        let (insertions, count) = alarms.withLock { ($0.insertions, $0.count) }
        return Progress(now: now, insertions: insertions, alarms: count)
    }

    /// Looks for a stall as long as tasks sleep.
    ///
    /// Real time alone would be no proof: on a busy machine a test may not run for many seconds. So the timeout is
    /// divided into ten pauses. After each, the watching task has to wait for its turn behind all tasks that were ready
    /// before it; a stall is ten turns in a row in which nothing happened in the clock's time. A process that is
    /// stopped, for example in a debugger, takes no turns.
    func watch() {
        let mustBegin = state.withLock { state in
            guard !state.isWatched else { return false }
            state.isWatched = true
            return true
        }
        guard mustBegin else { return }
        // The task does not retain the clock and ends with it. It inherits the task-local values by which a framework
        // for tests knows the current test.
        Task { [weak self] in
            var last: Progress?
            var quiet = 0
            while let pause = self?.look(&last, &quiet) { try? await Task.sleep(for: pause) }
        }
    }

    /// Looks whether anything has happened since the last look, and returns the pause before the next; `nil` to end.
    private func look(_ last: inout Progress?, _ quiet: inout Int) -> Duration? {
        guard isWorthWatching() else { return nil }
        let progress = progress
        quiet = progress == last && stage.isIdle ? quiet + 1 : 0
        last = progress
        guard state.withLock({ $0.isStalled }) else {
            if quiet == Self.looks { stall() }
            return stallTimeout / Self.looks
        }
        // One alarm at a time: what it causes may set an earlier one than the next.
        if quiet > 0, let next = alarms.withLock({ $0.earliest }) { fire(at: next) }
        return min(stallTimeout / Self.looks, .milliseconds(10))
    }

    private static var looks: Int { 10 }

    /// Whether tasks sleep, apart from those that an autopilot has left behind, such as a refresh that goes on after
    /// the last call.
    private var isAwaited: Bool {
        let (count, isStalled) = state.withLock { ($0.alarmsOfAutopilot, $0.isStalled) }
        return alarms.withLock { isStalled ? $0.sleepers > 0 : $0.hasAwaitedSleeper(after: count) }
    }

    /// Returns whether tasks sleep. If not, the next one that does begins a new watch.
    private func isWorthWatching() -> Bool {
        // Reentrancy: a task that falls asleep now has set its alarm before it looks whether the clock is watched.
        if isAwaited { return true }
        state.withLock { $0.isWatched = false }
        guard isAwaited else { return false }
        return state.withLock { state in
            defer { state.isWatched = true }
            return !state.isWatched
        }
    }

    private func stall() {
        let pending = alarms.withLock { $0.pending }
        let (awaited, watchers) = state.withLock { state in
            defer { state.watchers = [] }
            state.isStalled = true
            return (state.watchers.map(\.count).max(), state.watchers.map(\.continuation))
        }
        let most = 8
        var lines = [
            "A TestClock stands at \(elapsed.displayText). Tasks sleep until it advances, but nobody has advanced it "
                + "for \(stallTimeout.displayText) of real time. What waits:"
        ]
        lines += pending.prefix(most).map { "    \($0.purpose.reason), \(Self.text(until: $0.instant))" }
        if pending.count > most { lines.append("    and \(pending.count - most) more") }
        if let awaited { lines.append("The test waits for \(awaited) sleeping tasks; there are \(sleepers).") }
        lines.append("Advance the clock with advance(by:), or run the calls inside clock.run { }, where it advances by")
        lines.append("itself. Now it advances by itself, so that the test can end.")
        report(TestFailure(lines.joined(separator: "\n")))
        for continuation in watchers { continuation.resume() }
    }

    private static func text(until instant: Instant) -> String {
        instant < .distantFuture ? "until \(Instant.zero.duration(to: instant).displayText)" : "without end"
    }
}
