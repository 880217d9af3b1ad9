#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A source of clocks, waits and random numbers.
///
/// A program uses `SystemTime`; a test uses `TestClock` of `ErrandTesting`, whose time advances only when the test says
/// so.
public protocol TimeSource: Sendable {
    /// The current instant on a clock that never goes back.
    var now: Instant { get }
    /// The current date and time of the wall clock, which people and servers can set. Errand uses it only for the
    /// expiry of tokens and for dates in headers.
    var date: Date { get }
    /// The executor of calls, and of the few tasks that outlive their caller; `nil` for the default executor.
    var executor: (any TaskExecutor)? { get }
    /// Returns a random number; all 64 bits are used.
    func random() -> UInt64
    /// Calls `action` once, at `instant` or soon after it, unless the alarm is canceled first. `action` must be quick
    /// and must not block.
    func schedule(at instant: Instant, for purpose: Alarm.Purpose, _ action: @escaping @Sendable () -> Void) -> Alarm
}

extension TimeSource where Self == SystemTime {
    /// The system's clock and random numbers.
    public static var system: SystemTime { SystemTime.shared }
}

extension TimeSource {
    /// Whether time passes only when a test says so, and whenever no task has anything left to do. Code that waits for
    /// a thread of the system has to block instead, because the test's clock does not know that thread.
    package var isVirtual: Bool { executor != nil || VirtualTime.isUnderWay }

    /// Returns a random number that is at least 0 and less than 1.
    func randomFraction() -> Double {
        Double(random() >> 11) / Double(1 << 53)
    }

    /// A random UUID (version 4).
    package func randomUUID() -> UUID {
        let (high, low) = (random(), random())
        func byte(_ word: UInt64, _ index: Int) -> UInt8 { UInt8(truncatingIfNeeded: word >> (8 * index)) }
        return UUID(
            uuid: (
                byte(high, 0), byte(high, 1), byte(high, 2), byte(high, 3), byte(high, 4), byte(high, 5),
                byte(high, 6) & 0x0F | 0x40, byte(high, 7), byte(low, 0) & 0x3F | 0x80, byte(low, 1), byte(low, 2),
                byte(low, 3), byte(low, 4), byte(low, 5), byte(low, 6), byte(low, 7)
            ))
    }

    /// Runs an operation on the executor, if there is one: a test's clock knows what runs there, and lets no time pass
    /// before that is done.
    @inline(__always)
    func run<Value, Failure>(_ operation: () async throws(Failure) -> Value) async throws(Failure) -> Value {
        guard let executor else { return try await operation() }
        return try await withTaskExecutorPreference(executor) { () async throws(Failure) in
            try await onPreferredExecutor(operation)
        }
    }

    /// Runs an operation on the executor that the task prefers: a concurrent function switches to it on entry.
    @concurrent
    private func onPreferredExecutor<Value, Failure>(
        _ operation: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        // The compiler leaves the switch out if nothing here depends on it.
        withUnsafeCurrentTask { _ in }
        return try await operation()
    }

    /// Waits until `instant`. Throws `.cancelled` early when the scope is stopped.
    package func sleep<Failure>(
        until instant: Instant, for purpose: Alarm.Purpose = .sleeper, in scope: StopScope<Failure>
    ) async throws(Failure) {
        guard instant > now else {
            if scope.isStopped { throw .cancelled }
            return
        }
        let end = Latch()
        let alarm = schedule(at: instant, for: purpose) { end.open() }
        defer { alarm.cancel() }
        try await end.opened(in: scope)
    }
}

/// An action that a `TimeSource` calls at an instant.
public struct Alarm: Sendable {
    /// The purpose of an alarm. A test waits for sleeping tasks, but not for the timeouts of the library.
    public struct Purpose: Sendable {
        let isSleeper: Bool
        /// What happens then, for a test that waits for it in vain.
        package let reason: StaticString
        /// Whether a call may wait for the alarm.
        package var isAwaited = true
        /// Whether the rate limiter has its next permit then.
        package private(set) var isPermit = false
        /// Whether that rate limiter has the limit that every client has by default.
        package private(set) var isDefaultLimit = false

        /// A task sleeps until then: in backoff, or in the queue of a limiter.
        public static var sleeper: Purpose { sleeper("a sleep") }
        /// The library checks something then: a timeout, a deadline, the next permit.
        public static var watch: Purpose { watch("a check") }

        package static func nextPermit(ofDefaultLimit isDefaultLimit: Bool = false) -> Purpose {
            var purpose = watch("the rate limiter's next permit")
            (purpose.isPermit, purpose.isDefaultLimit) = (true, isDefaultLimit)
            return purpose
        }

        package static func sleeper(_ reason: StaticString) -> Purpose { Purpose(isSleeper: true, reason: reason) }
        package static func watch(_ reason: StaticString) -> Purpose { Purpose(isSleeper: false, reason: reason) }
    }

    private enum Setting: Sendable {
        case entry(AlarmHeap.Ticket, in: AlarmHeap.Shared)
        case other(cancel: @Sendable () -> Void)
    }

    private let setting: Setting

    /// Creates an alarm for your own time source.
    ///
    /// - Parameter cancel: Cancels the alarm; must do nothing if the alarm has already fired. It may be called on any
    ///   thread, and more than once.
    public init(cancel: @escaping @Sendable () -> Void) {
        setting = .other(cancel: cancel)
    }

    package init(heap: AlarmHeap.Shared, ticket: AlarmHeap.Ticket) {
        setting = .entry(ticket, in: heap)
    }

    /// Cancels the alarm. Does nothing if it has already fired.
    public func cancel() {
        switch setting {
        case .entry(let ticket, let heap): heap.cancel(ticket)
        case .other(let cancel): cancel()
        }
    }
}

/// Virtual time for code that has no time source, such as a `TokenPersistence`.
package enum VirtualTime {
    @TaskLocal package static var isUnderWay = false
}
