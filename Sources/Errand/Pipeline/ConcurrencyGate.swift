/// Lets at most so many sends of a client be under way, first come, first served.
///
/// A call that a refresh makes does not wait: those that are under way may wait for the refresh.
struct ConcurrencyGate: Layer {
    /// Who is under way, and who waits.
    private final class Places: Sendable {
        let most: Int
        let queue: Int
        private let state = Lock(State())

        private struct State {
            var taken = 0
            var line = WaitingLine()
        }

        init(_ most: Int, queue: Int) {
            self.most = most
            self.queue = queue
        }

        enum Entry {
            case taken
            case waiting(WaitingLine.Waiter)
            case full
        }

        /// Takes a place, or one in the queue.
        func take(before deadline: Instant, orWait mayWait: Bool) -> Entry {
            state.withLock { state in
                // Whoever comes now is behind those that wait.
                if state.taken < most, state.line.count == 0 {
                    state.taken += 1
                    return .taken
                }
                guard mayWait, state.line.count < queue else { return .full }
                return .waiting(state.line.join(cost: 1, isUrgent: false, deadline: deadline))
            }
        }

        /// Leaves the queue. A waiter that has a place by then gives it back.
        func leave(_ waiter: WaitingLine.Waiter) {
            state.withLock { $0.line.leave(waiter) }
            waiter.admission.complete(.failure(.cancelled))
            if case .success = waiter.admission.outcome { giveBack() }
        }

        /// Gives a place to the first of those that wait, or back.
        func giveBack() {
            // One that has been stopped passes the place on.
            while let next = takeNext(), next.admission.complete(.success(.zero)) == nil {}
        }

        private func takeNext() -> WaitingLine.Waiter? {
            state.withLock { state in
                guard let first = state.line.first else {
                    state.taken -= 1
                    return nil
                }
                state.line.leave(first)
                return first
            }
        }
    }

    private let places: Places

    /// Creates the gate for that limit; `nil` if there is none.
    init?(_ limit: ConcurrencyLimit) {
        guard let most = limit.most else { return nil }
        places = Places(most, queue: limit.queue)
    }

    func intercept(_ request: HTTPRequest, _ context: CallContext, next: @escaping Next) async throws(ServiceError)
        -> HTTPResponse
    {
        let transmission = context.transmission
        if transmission.rules.ignoresConcurrency || transmission.settings.isRefreshCall {
            return try await next(request, context)
        }
        try await enter(transmission, orWait: !context.isHedge)
        defer { places.giveBack() }
        return try await next(request, context)
    }

    @inline(never)
    private func enter(_ transmission: Transmission, orWait mayWait: Bool) async throws(ServiceError) {
        let waiter: WaitingLine.Waiter
        switch places.take(before: transmission.deadline, orWait: mayWait) {
        case .taken: return
        case .waiting(let place): waiter = place
        case .full: throw .overloaded(queue: places.queue)
        }
        transmission.note(.waitingForOthers)
        do throws(ServiceError) {
            try await transmission.run { (scope: CallScope) async throws(ServiceError) in
                try await wait(for: waiter, in: scope)
            }
        } catch {
            places.leave(waiter)
            throw error
        }
        transmission.note(.preparing)
    }

    private func wait(for waiter: WaitingLine.Waiter, in scope: CallScope) async throws(ServiceError) {
        await scope.wait {
            await waiter.admission.completion()
        } onStop: {
            waiter.admission.complete(.failure(.cancelled))
        }
        _ = try (waiter.admission.outcome ?? .failure(.cancelled)).get()
    }
}

extension ServiceError {
    /// The error of a call for which there is no place, not even in the queue.
    fileprivate static func overloaded(queue: Int) -> ServiceError {
        let message = "\(queue) other requests of the client wait already; `concurrency` sets how many may"
        return .transport(TransportFailure(.overloaded, message, mayHaveReachedServer: false))
    }
}
