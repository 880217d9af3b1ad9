#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Admits each send: waits for its permit, then signs the request with the token of that moment.
///
/// It is the one place where permits are taken. A call waits for its permit unsigned, so its token does not grow old in
/// the queue. If the token has to be waited for, the permit goes back meanwhile, for two reasons: the refresh may need
/// it, and permits that were kept would let all who waited go at once, beyond any limit. When the token is there the
/// call takes another permit at the head of the queue, and looks at the token again.
struct Admission: Layer {
    let limiter: RateLimiter
    let tokens: TokenStore?

    func intercept(_ request: HTTPRequest, _ context: CallContext, next: @escaping Next) async throws(ServiceError)
        -> HTTPResponse
    {
        var context = context
        var request = request
        // A hop that has left the origin is not signed, and a request that brings its own credentials is left as it is.
        guard let tokens, let session = context.session, !context.hasLeftOrigin,
            request.headers["Authorization"] == nil
        else {
            context.permit = try await limiter.permit(for: context.call, isUrgent: context.isUrgent)
            return try await next(request, context)
        }
        let token = try await admit(&context, signedBy: tokens, for: session)
        context.call.noteSent(token)
        request.headers["Authorization"] = token.authorization
        var response = try await next(request, context)
        if (200..<400).contains(response.status) { tokens.accept(token.access) }
        response.accessToken = token.access
        return response
    }

    /// Waits for a permit and a token that are there at the same time.
    private func admit(
        _ context: inout CallContext, signedBy tokens: TokenStore, for session: UUID
    ) async throws(ServiceError) -> Token {
        let call = context.call
        while true {
            // One that had expired by the time it was saved is sent as it is: another would be no better, and would be
            // had without end.
            let spent = context.awaited.flatMap { $0.token.hasExpired(at: call.time.date) ? $0.token : nil }
            let permit = try await limiter.permit(for: call, isUrgent: context.isUrgent)
            context.permit = permit
            if let current = try tokens.currentToken(of: session) {
                // An aging token is good enough, and starts a refresh beside the call.
                return current.isAging ? try await call.token(of: session, from: tokens) : current.token
            }
            if let spent { return spent }
            permit.giveBack()
            context.awaited = AwaitedToken(try await call.token(of: session, from: tokens))
            context.isUrgent = true
        }
    }
}

extension RateLimiter {
    /// Waits for the permit of a send, and reports how long that took. A call that a refresh makes is urgent: it would
    /// otherwise wait behind those who wait for the refresh.
    func permit(for call: Call, isUrgent: Bool) async throws(ServiceError) -> Permit {
        let (cost, isUrgent) = (call.rules.permits, isUrgent || call.isRefreshCall)
        if let taken = try takeAtOnce(cost: cost, isUrgent: isUrgent) {
            return Permit(of: self, cost: cost, taken: taken)
        }
        call.note(.waitingForPermit)
        let grant = try await call.run { (scope: CallScope) async throws(ServiceError) in
            try await take(cost: cost, isUrgent: isUrgent, before: call.deadline, in: scope)
        }
        call.tell(.waitedForPermit(grant.asked.duration(to: grant.taken)))
        return Permit(of: self, cost: cost, taken: grant.taken)
    }
}

extension Call {
    /// Waits for a token of the session that is good now.
    fileprivate func token(of session: UUID, from tokens: TokenStore) async throws(ServiceError) -> Token {
        try await waitForToken { (scope: CallScope) async throws(ServiceError) in
            try await tokens.token(of: session, in: scope)
        }
    }

    /// Waits for a token, and reports how long that took.
    ///
    /// When it fails, the phase stays `.waitingForToken`: a retry sees from it that another attempt would only ask
    /// again.
    func waitForToken(
        _ ask: (CallScope) async throws(ServiceError) -> Token
    ) async throws(ServiceError) -> Token {
        note(.waitingForToken)
        let start = time.now
        let token = try await run(ask)
        tell(.waitedForToken(start.duration(to: time.now)))
        return token
    }
}

extension Token {
    fileprivate func hasExpired(at date: Date) -> Bool {
        expiry.map { $0 <= date } ?? false
    }
}
