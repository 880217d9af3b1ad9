#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
import Synchronization

/// The running calls of a client, and whether new ones may begin.
///
/// Behind a lock and not on the client's actor, because calls begin and end without a wait.
final class CallsInFlight: TransmissionOwner {
    private struct State {
        var calls: [Int: Call] = [:]
        /// The transmissions that run by themselves.
        var transmissions: [ObjectIdentifier: SharedTransmission] = [:]
        var isClosed = false
        /// The refreshes that have made a call. Between two calls, none of theirs is among `calls`.
        var refreshes: [RefreshRun] = []
        /// The refreshes that may still make calls, although no others may begin.
        var finishing: [RefreshRun] = []
        var drained: Latch?
        /// Ends the time in which running calls may finish; `nil` before and after that time.
        var grace: Latch?

        /// Whether the call may begin: after the client was closed, only a refresh that other calls wait for.
        func admits(_ call: Call) -> Bool {
            !isClosed || isFinishing(call) || grace != nil && call.settings.isRefreshCall
        }

        /// What waits for the end of the last call, if there is none left.
        var waiting: [Latch] {
            guard isEmpty, grace != nil || drained != nil else { return [] }
            return [grace, drained].compactMap(\.self)
        }

        /// Whether nothing runs any more.
        var isEmpty: Bool { calls.isEmpty && transmissions.isEmpty }

        /// Whether a refresh makes the call that is allowed to finish.
        func isFinishing(_ call: Call) -> Bool { isFinishing(call.settings.refreshRun) }

        func isFinishing(_ run: RefreshRun?) -> Bool {
            run != nil && finishing.contains { $0 === run }
        }

        mutating func note(_ run: RefreshRun?) {
            guard let run, !refreshes.contains(where: { $0 === run }) else { return }
            refreshes.removeAll { !$0.isUnderWay }
            refreshes.append(run)
        }
    }

    private let state = Lock(State())
    private let counts = Broadcast<Int>()
    private let lastID = Atomic(0)

    /// The number of running calls, now and whenever it changes.
    var activity: AsyncStream<Int> {
        state.withLock { counts.stream(first: $0.calls.count, capacity: 1) }
    }

    /// The running calls, and the transmissions that run by themselves.
    var running: (calls: [Call], transmissions: [SharedTransmission]) {
        state.withLock { (Array($0.calls.values), Array($0.transmissions.values)) }
    }

    /// Returns the number of the next call.
    func nextID() -> Int {
        lastID.wrappingAdd(1, ordering: .relaxed).newValue
    }

    func begin(_ call: Call) throws(ServiceError) {
        let listening: WaitingTasks? = state.withLock { state in
            guard state.admits(call) else { return nil }
            state.calls[call.settings.id] = call
            state.note(call.settings.refreshRun)
            return counts.queue(CollectionOfOne(state.calls.count))
        }
        guard let listening else {
            throw .clientShutDown
        }
        listening.resume()
        call.setDeadline()
    }

    /// Goes on with `next`, which has the same number and scope, in place of `call`.
    func replace(_ call: Call, by next: Call) {
        state.withLock { $0.calls[call.settings.id] = next }
        _ = call.finish()
        next.setDeadline()
    }

    /// Ends the call and sends the event, unless the call has ended already.
    func end(_ call: Call, reporting event: @autoclosure () -> ClientEvent.Kind) {
        guard call.finish() else { return }
        call.report(event())
        let (listening, waiting) = state.withLock { state in
            state.calls[call.settings.id] = nil
            return (counts.queue(CollectionOfOne(state.calls.count)), state.waiting)
        }
        listening.resume()
        for latch in waiting { latch.open() }
    }

    /// Keeps a transmission that runs by itself until its end. It counts when the client is shut down, and not among
    /// the calls. While running calls may finish, it may begin if one of them waits for it.
    func begin(_ transmission: SharedTransmission) throws(ServiceError) {
        let isOpen = state.withLock { state in
            guard !state.isClosed || state.grace != nil && !transmission.finishesAlone else { return false }
            state.transmissions[ObjectIdentifier(transmission)] = transmission
            return true
        }
        if !isOpen { throw .clientShutDown }
    }

    /// Ends a transmission that ran by itself.
    func end(_ transmission: SharedTransmission) {
        let waiting = state.withLock { state in
            state.transmissions[ObjectIdentifier(transmission)] = nil
            return state.waiting
        }
        for latch in waiting { latch.open() }
    }

    /// Cancels all calls except those that a token refresh has made: a refresh belongs to a token store and not to a
    /// caller, and a token that the server has already replaced would be lost.
    func cancelAll() {
        let calls = state.withLock { Array($0.calls.values) }
        for call in calls where !call.settings.isRefreshCall { call.stop(.cancelled) }
    }

    /// Prevents new calls, and waits until running ones have finished: until that instant at most, until the task is
    /// canceled, or until ``endGrace()``. Does nothing if they have been stopped before.
    ///
    /// A refresh may still begin, because a running call may wait for its token.
    func finish(until end: Instant, time: any TimeSource) async {
        let grace: Latch? = state.withLock { state in
            guard !state.isClosed || state.grace != nil else { return nil }
            state.isClosed = true
            let grace = state.grace ?? Latch()
            if !state.isEmpty { state.grace = grace }
            return state.isEmpty ? nil : grace
        }
        guard let grace else { return }
        let alarm = time.schedule(at: end, for: .sleeper("the end of a shutdown")) { grace.open() }
        defer { alarm.cancel() }
        await CallScope().wait {
            await grace.opened()
        } onStop: {
            grace.open()
        }
    }

    /// Ends the time in which running calls may finish.
    func endGrace() {
        let grace = state.withLock { $0.grace.take() }
        grace?.open()
    }

    /// Whether the shutdown that is under way waits for that refresh.
    func isFinishing(_ run: RefreshRun?) -> Bool {
        state.withLock { $0.isFinishing(run) }
    }

    /// Prevents new calls, stops running ones, and waits until the last has ended.
    ///
    /// A refresh that has begun to make calls finishes first, which takes no longer than its store allows (T17, T18).
    func close() async {
        let refreshes = state.withLock { state in
            state.isClosed = true
            // A closure that ends its own client would wait for itself.
            state.finishing = state.refreshes.filter { $0.isUnderWay && $0 !== TokenStore.refreshing }
            return state.finishing
        }
        stopAll { !$0.isFinishing($1) }
        for refresh in refreshes { await refresh.ended() }
        let (drained, isDrained) = state.withLock { state in
            state.finishing = []
            let drained = state.drained ?? Latch()
            state.drained = drained
            return (drained, state.isEmpty)
        }
        if isDrained { drained.open() }
        // Calls that the closure of a refresh has left behind.
        stopAll { _, _ in true }
        await drained.opened()
        counts.finish()
    }

    private func stopAll(where isStopped: (State, Call) -> Bool) {
        let (calls, transmissions) = state.withLock { state in
            (state.calls.values.filter { isStopped(state, $0) }, Array(state.transmissions.values))
        }
        for call in calls { call.stop(.cancelled) }
        for shared in transmissions { shared.transmission.stop(.cancelled) }
    }
}

/// Ends the calls of a session along with it (T6, T7, T20), so that no screen receives the data of an earlier user.
///
/// A call does not register for that, which would cost each of them: when a session ends, the store asks its clients,
/// and each looks through its running calls. None escapes. A call has its session before Admission looks at that for
/// the last time. If the session ends before, Admission fails; if it ends after, the call is among the running ones.
extension CallsInFlight: SessionKeeper {
    func stop(session: UUID, because reason: ServiceError) {
        let (calls, transmissions) = running
        for call in calls where call.session == session && !call.outlivesSession { call.stop(reason) }
        for shared in transmissions where shared.transmission.session == session && !shared.outlivesSession {
            shared.transmission.stop(reason)
        }
    }
}

extension ServiceError {
    fileprivate static var clientShutDown: ServiceError {
        .invalidRequest(InvalidRequest(.clientShutDown, "the client has been shut down"))
    }
}
