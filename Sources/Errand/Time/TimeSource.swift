#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Where every clock, wait and random number of the library comes from.
///
/// A program uses `SystemTime`; a test uses `TestClock` of `ErrandTesting`, whose time stands still until it is told
/// to pass.
public protocol TimeSource: Sendable {
    /// The present moment on a clock that never goes back.
    var now: Instant { get }
    /// The present moment on the wall clock, which people and servers can set. Only the expiry of tokens and dates in
    /// headers use it.
    var date: Date { get }
    /// The executor on which the library starts the few tasks that outlive a caller; `nil` for the usual one.
    var executor: (any TaskExecutor)? { get }
    /// A random number; all 64 bits count.
    func random() -> UInt64
    /// Calls `action` once, at `instant` or soon after it, unless the alarm is cancelled before. `action` must be
    /// quick and must not block.
    func schedule(at instant: Instant, for purpose: Alarm.Purpose, _ action: @escaping @Sendable () -> Void) -> Alarm
}

extension TimeSource where Self == SystemTime {
    /// The machine's own clock and random numbers.
    public static var system: SystemTime { SystemTime.shared }
}

extension TimeSource {
    /// A random number from 0 up to, but not including, 1.
    func randomFraction() -> Double {
        Double(random() >> 11) / Double(1 << 53)
    }

    /// Waits until `instant`; ends early, with `.cancelled`, when the scope is stopped.
    func sleep<Failure>(until instant: Instant, in scope: StopScope<Failure>) async throws(Failure) {
        guard instant > now else {
            if scope.isStopped { throw .cancelled }
            return
        }
        let flight = Flight<Void, Failure>()
        let alarm = schedule(at: instant, for: .sleeper) { flight.land(.success(())) }
        defer { alarm.cancel() }
        try await flight.value(in: scope)
    }
}

/// A call that a `TimeSource` has been asked to make at some instant.
public struct Alarm: Sendable {
    /// What an alarm is for: a test waits for the sleepers, and not for what the library looks after by itself.
    public enum Purpose: Sendable {
        /// A task sleeps until then: in backoff, in the line of a limiter.
        case sleeper
        /// The library looks after something then: a timeout, a deadline, the next permit.
        case watch
    }

    private enum Setting: Sendable {
        case entry(AlarmHeap.Ticket, in: AlarmHeap.Shared)
        case other(cancel: @Sendable () -> Void)
    }

    private let setting: Setting

    /// Makes an alarm of a clock of your own.
    ///
    /// - Parameter cancel: Takes the alarm back, and does nothing if it has fired already. It may be called on any
    ///   thread, and more than once.
    public init(cancel: @escaping @Sendable () -> Void) {
        setting = .other(cancel: cancel)
    }

    package init(heap: AlarmHeap.Shared, ticket: AlarmHeap.Ticket) {
        setting = .entry(ticket, in: heap)
    }

    /// Takes the alarm back. Does nothing if it has fired already.
    public func cancel() {
        switch setting {
        case .entry(let ticket, let heap): heap.cancel(ticket)
        case .other(let cancel): cancel()
        }
    }
}
