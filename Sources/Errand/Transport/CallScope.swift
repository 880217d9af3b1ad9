/// The scope in which a call, or a part of it, can be stopped.
package typealias CallScope = StopScope<ServiceError>

extension CallScope {
    /// Whether the scope was stopped because its time was up.
    package var isOutOfTime: Bool {
        if case .timedOut = reason { true } else { false }
    }
}

extension TimeSource {
    /// Waits until `instant`. Throws `.cancelled` early when the task is cancelled.
    public func sleep(until instant: Instant) async throws(ServiceError) {
        try await sleep(until: instant, in: CallScope())
    }

    /// Waits for `duration`. Throws `.cancelled` early when the task is cancelled.
    public func sleep(for duration: Duration) async throws(ServiceError) {
        try await sleep(until: now.advanced(by: duration))
    }
}
