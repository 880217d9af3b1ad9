#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Signs a request with the token of the session to which its call belongs; has the token replaced once if the server
/// refuses it.
struct Authentication: Layer {
    let tokens: TokenStore
    let limiter: RateLimiter

    func intercept(_ request: HTTPRequest, _ context: CallContext, next: @escaping Next) async throws(ServiceError)
        -> HTTPResponse
    {
        let call = context.call
        guard let session = call.read({ $0.session }), request.headers["Authorization"] == nil else {
            return try await next(request, context)
        }
        let token = try await token(of: session, for: call)
        let response = try await next(request.signed(with: token, in: call), context)
        // A 401 after a redirect over another origin is no word about our token: that hop did not carry it.
        guard response.status == 401, tokens.refresh != nil, !response.isToStranger, request.body?.isReplayable ?? true
        else {
            return response
        }
        let newer = try await obtain(for: call) { (leash: Leash) async throws(ServiceError) in
            try await tokens.replacement(for: token, of: session, on: leash)
        }
        let present = try await inTurn(newer, of: session, for: call)
        // The answer to the replay is final, a second 401 too: whatever is wrong, another token would not help.
        return try await next(request.signed(with: present, in: call), context)
    }

    /// The token to sign with. A call that has to wait for it gives its permits back and takes others at the head of the
    /// line when it is there: those it had would be of a time long past, and all who waited would go at once, beyond any
    /// limit. Nor does the refresh have to wait for permits that are kept by those who wait for the refresh.
    private func token(of session: UUID, for call: Call) async throws(ServiceError) -> Token {
        if let present = tokens.goodToken(of: session) { return present }
        // An aging one does, but has another asked for.
        guard try tokens.presentToken(of: session) == nil else { return try await awaited(of: session, for: call) }
        limiter.settle(call)
        return try await inTurn(awaited(of: session, for: call), of: session, for: call)
    }

    /// Takes permits at the head of the line for a call that has had to wait for that token, and returns the one to send
    /// then: it may have expired in line. The refresh that follows stands behind those who wait here, so they make way.
    private func inTurn(_ token: Token, of session: UUID, for call: Call) async throws(ServiceError) -> Token {
        var token = token
        while true {
            // One that came expired is sent as it is: another would be no better, and would be had without end.
            let isSpent = token.expiry.map { $0 <= call.time.date } ?? false
            try await limiter.admit(call, isUrgent: true)
            if let present = try tokens.presentToken(of: session) { return present }
            if isSpent { return token }
            limiter.settle(call)
            token = try await awaited(of: session, for: call)
        }
    }

    private func awaited(of session: UUID, for call: Call) async throws(ServiceError) -> Token {
        try await obtain(for: call) { (leash: Leash) async throws(ServiceError) in
            try await tokens.token(of: session, on: leash)
        }
    }

    private func obtain(
        for call: Call, _ ask: (Leash) async throws(ServiceError) -> Token
    ) async throws(ServiceError) -> Token {
        call.note(.waitingForToken)
        let start = call.time.now
        do throws(ServiceError) {
            let token = try await call.held(ask)
            call.tell(.waitedForToken(start.duration(to: call.time.now)))
            return token
        } catch {
            call.update { $0.lacksToken = true }
            throw error
        }
    }
}

extension HTTPRequest {
    fileprivate func signed(with token: Token, in call: Call) -> HTTPRequest {
        call.update { $0.accessTokens = (token.access, $0.accessTokens.last) }
        var signed = self
        signed.headers["Authorization"] = token.authorization
        return signed
    }
}
