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

    /// Looks for a stall as long as tasks sleep, or the test waits for them to.
    func watch() {
        let mustBegin = state.withLock { state in
            guard !state.isWatched else { return false }
            state.isWatched = true
            return true
        }
        guard mustBegin else { return }
        // The task does not retain the clock and ends with it. It inherits the task-local values by which a framework
        // for tests knows the current test.
        Task { [weak self, stallTimeout] in
            var quiet = QuietTime<Progress>(timeout: stallTimeout)
            while let pause = self?.look(&quiet) { try? await Task.sleep(for: pause) }
        }
    }

    /// Looks whether anything has happened since the last look, and returns the pause before the next; `nil` to end.
    private func look(_ quiet: inout QuietTime<Progress>) -> Duration? {
        guard isWorthWatching() else { return nil }
        quiet.look(at: progress, isBusy: !testExecutor.isIdle)
        guard state.withLock({ $0.isStalled }) else {
            if quiet.isOver { stall() }
            return quiet.pause
        }
        // One alarm at a time: what it causes may set an earlier one than the next.
        if quiet.isQuiet, let next = alarms.withLock({ $0.earliest }) { fire(at: next) }
        return min(quiet.pause, .milliseconds(10))
    }

    /// Whether the test waits for sleepers, or tasks sleep, apart from those that an autopilot has left behind, such as
    /// a refresh that goes on after the last call.
    private var isAwaited: Bool {
        if waiters.isAwaited { return true }
        let (count, isStalled) = state.withLock { ($0.alarmsOfAutopilot, $0.isStalled) }
        return alarms.withLock { isStalled ? $0.sleepers > 0 : $0.hasAwaitedSleeper(after: count) }
    }

    /// Returns whether there is anything to watch. If not, the next task that sleeps or waits begins a new watch.
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
        state.withLock { $0.isStalled = true }
        waiters.giveUp { waiters in
            let waiter = waiters.max { $0.count < $1.count }
            report(TestFailure(stallText(awaiting: waiter?.count), at: waiter?.location))
        }
    }

    private func stallText(awaiting count: Int?) -> String {
        let (pending, sleepers) = alarms.withLock { ($0.pending, $0.sleepers) }
        let wait = count.map { "The test waits for \(Self.tasks($0)); there are \(sleepers)." }
        guard sleepers > 0 else {
            let advice = "A task sleeps in the time of this clock only if the clock was given to it: `$0.time = clock`."
            return [wait, advice].compactMap(\.self).joined(separator: "\n")
        }
        var lines = [
            "A TestClock is at \(elapsed.displayText). Tasks sleep until it advances, but it has not been advanced "
                + "for \(stallTimeout.displayText) of real time. Waiting:"
        ]
        let most = 8
        lines += pending.prefix(most).map { "    \($0.purpose.reason), \(Self.text(until: $0.instant))" }
        if pending.count > most { lines.append("    and \(pending.count - most) more") }
        if let wait { lines.append(wait) }
        if pending.contains(where: \.purpose.isPermit) {
            lines.append("A client sends 5 requests per second by default: set `$0.rateLimit = .unlimited` for a test.")
        }
        lines.append("Advance the clock with advance(by:), or run the calls inside clock.run { }, where it advances by")
        lines.append("itself. Now it advances by itself, so that the test can end.")
        return lines.joined(separator: "\n")
    }

    private static func tasks(_ count: Int) -> String {
        count == 1 ? "1 sleeping task" : "\(count) sleeping tasks"
    }

    private static func text(until instant: Instant) -> String {
        instant < .distantFuture ? "until \(Instant.zero.duration(to: instant).displayText)" : "without end"
    }
}
