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
    func admit(_ call: Call, isUrgent: Bool) async throws(ServiceError) {
        let (cost, deadline) = (call.rules.cost, call.deadline)
        if try acquireAtOnce(cost: cost, isUrgent: isUrgent) { return }
        call.note(.waitingForPermit)
        let waited = try await call.leashed { () async throws(ServiceError) in
            try await self.acquire(cost: cost, isUrgent: isUrgent, before: deadline)
        }
        call.tell(.waitedForPermit(waited))
    }
}
