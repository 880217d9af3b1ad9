extension DiskThreads {
    /// Runs `work` on one of the threads and returns its result.
    ///
    /// If the scope is stopped or the task canceled, throws `.cancelled` after `grace`: work that has not begun is not
    /// done then, and work that has begun is left behind, which a disk that hangs may never end.
    @_semantics("optimize.sil.specialize.generic.never")
    func run<Value: Sendable, Failure: CancellationFailure>(
        at path: String, grace: Duration = .zero, in scope: StopScope<Failure> = StopScope(),
        _ work: @escaping @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        if grace == .zero, scope.isStopped { throw scope.reason ?? .cancelled }
        let place = DiskPlace(path)
        let (done, over) = (Promise<Value, Failure>(), Latch())
        let ticket = submit(at: place) {
            done.complete(Result(catching: work))
            over.open()
        }
        do throws(Failure) {
            return try await done.value(in: scope)
        } catch {
            if done.outcome == nil, grace > .zero { await over.opened(within: grace) }
            if let outcome = done.outcome { return try outcome.get() }
            withdraw(ticket, at: place)
            throw scope.reason ?? error
        }
    }

    /// Runs `work`, and returns its result when it is done, even if the task is canceled.
    func finish<Value: Sendable, Failure: Error>(
        at path: String, _ work: @escaping @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        try await withCheckedContinuation { continuation in
            submit(at: DiskPlace(path)) { continuation.resume(returning: Result(catching: work)) }
        }.get()
    }

    /// Runs `work`, which is done in any case, and waits for it no longer than `grace`.
    func finish(at path: String, within grace: Duration, _ work: @escaping @Sendable () -> Void) async {
        let over = Latch()
        submit(at: DiskPlace(path)) {
            work()
            over.open()
        }
        await over.opened(within: grace)
    }
}

// MARK: By a time source

/// In virtual time, work runs in the current task: time would pass for a test while it waits for a thread that the
/// clock does not know.
extension DiskThreads {
    @_semantics("optimize.sil.specialize.generic.never")
    static func run<Value: Sendable, Failure: CancellationFailure>(
        by time: any TimeSource = .system, at path: String, grace: Duration = .zero, on threads: DiskThreads = .shared,
        in scope: StopScope<Failure> = StopScope(), _ work: @escaping @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        guard !time.isVirtual else { return try work() }
        return try await threads.run(at: path, grace: grace, in: scope, work)
    }

    static func finish<Value: Sendable, Failure: Error>(
        by time: any TimeSource = .system, at path: String, on threads: DiskThreads = .shared,
        _ work: @escaping @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        guard !time.isVirtual else { return try work() }
        return try await threads.finish(at: path, work)
    }

    static func finish(
        by time: any TimeSource, at path: String, within grace: Duration, _ work: @escaping @Sendable () -> Void
    ) async {
        guard !time.isVirtual else { return work() }
        await shared.finish(at: path, within: grace, work)
    }

    /// Hands over `work`, which is done in any case, and does not wait for it.
    package static func submit(by time: any TimeSource, at path: String, _ work: @escaping @Sendable () -> Void) {
        guard !time.isVirtual else { return work() }
        shared.submit(at: DiskPlace(path), work)
    }

    /// Hands over `work`, which is done in any case, and does not wait for it.
    static func submit(by time: any TimeSource = .system, at place: DiskPlace, _ work: @escaping @Sendable () -> Void) {
        guard !time.isVirtual else { return work() }
        shared.submit(at: place, work)
    }

    /// Runs `work`, which is done in any case. Returns its result if that is there within `waitLimit`, before the task
    /// is canceled and before the scope is stopped; otherwise `nil`.
    ///
    /// If that limit passes first, calls `noteLate` with `true`, and with `false` when the work is over. The two may
    /// come in either order.
    static func result<Value: Sendable, Failure: CancellationFailure>(
        by time: any TimeSource = .system, at place: DiskPlace, within waitLimit: Duration,
        in scope: StopScope<Failure>, noting noteLate: @escaping @Sendable (Bool) -> Void,
        of work: @escaping @Sendable () -> Value
    ) async -> Value? {
        guard !time.isVirtual else { return work() }
        let result = Promise<Value?, Failure>()
        let state = Lock((isOver: false, isLate: false))
        shared.submit(at: place) {
            let value = work()
            let wasLate = state.withLock { state in
                state.isOver = true
                return state.isLate
            }
            result.complete(.success(value))
            if wasLate { noteLate(false) }
        }
        let system = SystemTime.shared
        let alarm = system.schedule(at: system.now.advanced(by: waitLimit), for: .watch("the end of work on a file")) {
            let isLate = state.withLock { state in
                if !state.isOver { state.isLate = true }
                return state.isLate
            }
            guard isLate else { return }
            noteLate(true)
            result.complete(.success(nil))
        }
        defer { alarm.cancel() }
        // A caller that has left needs no result.
        return (try? await result.value(in: scope)) ?? nil
    }
}

extension Latch {
    /// Waits until the latch is open, but no longer than that, even if the task is canceled.
    fileprivate func opened(within limit: Duration) async {
        let time = SystemTime.shared
        let alarm = time.schedule(at: time.now.advanced(by: limit), for: .watch("the end of work on a file")) {
            self.open()
        }
        await opened()
        alarm.cancel()
    }
}
