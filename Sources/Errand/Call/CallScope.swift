/// The scope in which a call, or a part of it, can be stopped.
///
/// Call/Stopping.swift says what stops what. A limiter, a transport and a token store wait in a scope too, without
/// knowing whose it is, so this file is below the rest of its folder (see `.ci/floors`).
package typealias CallScope = StopScope<ServiceError>

extension CallScope {
    /// Whether the scope was stopped because its time was up.
    package var isOutOfTime: Bool {
        if case .timedOut = reason { true } else { false }
    }
}

// MARK: Waits without a scope of their own

extension TimeSource {
    /// Waits until `instant`. Throws `.cancelled` early when the task is canceled.
    ///
    /// Returns at once if that instant has passed.
    public func sleep(until instant: Instant) async throws(ServiceError) {
        try await sleep(until: instant, in: CallScope())
    }

    /// Waits for `duration`. Throws `.cancelled` early when the task is canceled.
    ///
    /// Returns at once if the duration is not positive.
    public func sleep(for duration: Duration) async throws(ServiceError) {
        try await sleep(until: now.advanced(by: duration))
    }
}
