import ErrandJSON

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What a caller owns while a call runs: its deadline, its events, its end.
///
/// What is sent for it is a ``Transmission``: one after the other for a download, none while the call prepares.
final class Call: Interruptible, Stoppable {
    private struct State: Sendable {
        /// The phase, unless that of the transmission counts.
        var phase: Phase? = Phase.preparing
        /// The last transmission.
        var transmission: Transmission?
        /// The attempts that were counted before those of the transmission.
        var earlierAttempts = 0
        /// The session that the call belongs to before its first transmission does.
        var session: UUID?
        /// Stops the call at its deadline.
        var alarm: Alarm?
        var isOver = false
    }

    let settings: CallSettings
    let scope: CallScope

    private let state = Lock(State())

    init(_ settings: CallSettings, in scope: CallScope = CallScope()) {
        self.settings = settings
        self.scope = scope
    }

    /// Begins a transmission that ends with the call. It goes on with what the last one has counted. The first one
    /// takes over the session that the call is bound to.
    func beginTransmission(in session: UUID? = nil, reloading: Bool = false) -> Transmission {
        state.withLock { state in
            let bound = state.session.take()
            let next = Transmission(
                settings, in: scope, signedIn: session ?? bound, after: state.transmission, isReload: reloading)
            (state.transmission, state.phase) = (next, nil)
            return next
        }
    }

    /// The session that signs the requests of the call; `nil` if none does, or if it is not known yet.
    var session: UUID? { state.withLock { $0.transmission?.session ?? $0.session } }

    /// Binds the call to a session before it has a transmission.
    func bind(to session: UUID) {
        state.withLock { $0.session = session }
    }

    private var transmission: Transmission? { state.withLock { $0.transmission } }

    /// The current phase.
    var phase: Phase {
        state.withLock { $0.phase ?? $0.transmission?.phase ?? .preparing }
    }

    /// Reports the current phase.
    func note(_ phase: Phase) {
        state.withLock { $0.phase = phase }
    }

    /// Whether the server may have acted on a request of the call.
    var mayHaveActed: Bool { transmission?.mayHaveActed ?? false }

    /// The number of attempts.
    var attempts: Int { state.withLock { $0.earlierAttempts + ($0.transmission?.attempts ?? 0) } }

    /// The number of attempts that have made no progress.
    var attemptsInVain: Int { transmission?.attempts ?? 0 }

    /// Counts attempts in vain from zero again, after progress.
    func noteProgress() {
        state.withLock { $0.earlierAttempts += $0.transmission?.forgetAttempts() ?? 0 }
    }

    /// Returns a redactor that hides values with those names, and the secrets that were sent.
    func redactor(_ names: SecretNames) -> Redactor {
        transmission?.redactor(names) ?? Redactor(names)
    }

    /// Stops the call when its deadline passes, whether it waits for something or not.
    func setDeadline() {
        guard deadline < .distantFuture else { return }
        let alarm = time.schedule(at: deadline, for: .watch("the deadline of a call")) { self.stopAtDeadline() }
        let isOver = state.withLock { state in
            if !state.isOver { state.alarm = alarm }
            return state.isOver
        }
        if isOver { alarm.cancel() }
    }

    /// Stops the call because its deadline has passed.
    func stopAtDeadline() {
        stop(timedOut(.deadline))
    }

    /// Returns an error of the call, with its name, and the server that it comes from: after a redirect, that may be
    /// another than the client's.
    func naming(_ error: ServiceError) -> ServiceError {
        let server = transmission?.server?.description ?? settings.events.server
        return error.naming(
            settings.name, at: server, after: attempts,
            mayHaveActedBefore: transmission?.mayHaveActedBefore ?? false)
    }

    /// Ends the call. Returns `false` if it has ended already.
    func finish() -> Bool {
        let (isFirst, alarm) = state.withLock { state in
            defer { state.isOver = true }
            return (!state.isOver, state.alarm.take())
        }
        alarm?.cancel()
        return isFirst
    }
}
