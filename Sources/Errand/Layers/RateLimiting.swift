/// Waits until the limiter lets an attempt through.
struct RateLimiting: Layer {
    let limiter: RateLimiter

    func intercept(_ request: HTTPRequest, _ context: CallContext, next: @escaping Next) async throws(ServiceError)
        -> HTTPResponse
    {
        // A call that a refresh makes would otherwise wait behind those who wait for the refresh.
        try await limiter.admit(context.call, isUrgent: context.call.isOfRefresh)
        return try await next(request, context)
    }
}

extension RateLimiter {
    /// Waits for the permits of a send, and tells how long it took. A second send inside an attempt is urgent.
    ///
    /// The call keeps the permits until something is sent with them. If nothing is, because it was cancelled just then or
    /// a middleware has answered by itself, they are given back.
    func admit(_ call: Call, isUrgent: Bool) async throws(ServiceError) {
        settle(call)
        let (cost, deadline) = (call.rules.cost, call.deadline)
        if let instant = try takeAtOnce(cost: cost, isUrgent: isUrgent) {
            return call.update { $0.permit = instant }
        }
        call.note(.waitingForPermit)
        let grant = try await call.leashed { () async throws(ServiceError) in
            let grant = try await self.take(cost: cost, isUrgent: isUrgent, before: deadline)
            call.update { $0.permit = grant.taken }
            return grant
        }
        call.tell(.waitedForPermit(grant.asked.duration(to: grant.taken)))
    }

    /// Gives back what the call has taken and not used.
    func settle(_ call: Call) {
        guard
            let instant = call.exchange({ state in
                defer { state.permit = nil }
                return state.permit
            })
        else { return }
        giveBack(cost: call.rules.cost, takenAt: instant)
    }
}
