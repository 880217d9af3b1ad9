import Errand

/// Wakes a loop: when it is signaled, or at an instant. Signals that come together wake it once.
final class WakeUp: Sendable {
    private let signals = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    private let alarm = Lock<Alarm?>(nil)

    /// Wakes the loop, or keeps it from waiting.
    func signal() { signals.continuation.yield() }

    /// Waits for a signal.
    func wait() async {
        var iterator = signals.stream.makeAsyncIterator()
        _ = await iterator.next()
    }

    /// Signals at that instant, and no longer at the instant before.
    func setAlarm(at instant: Instant?, _ time: any TimeSource) {
        let next = instant.map { instant in
            time.schedule(at: instant, for: .watch("the fleet's next look")) { [self] in signal() }
        }
        alarm.withLock { alarm in
            defer { alarm = next }
            return alarm
        }?.cancel()
    }

    func cancelAlarm() { alarm.withLock { $0.take() }?.cancel() }
}

extension TimeSource {
    /// Waits for that long, or until the task is canceled.
    func pause(_ duration: Duration) async {
        try? await sleep(until: now.advanced(by: duration), in: StopScope<PauseEnd>())
    }
}

/// Why a pause has ended early.
private enum PauseEnd: CancellationFailure {
    case cancelled
}
