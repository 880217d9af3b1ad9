#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Admits each send: waits for its permit, then signs the request with the token of that moment.
///
/// It is the only place that takes permits. A call waits for its permit unsigned, so its token does not age in the
/// queue. If the call then has to wait for a token, it gives the permit back first, for two reasons: the refresh
/// may need it, and waiters that kept their permits would all be sent at once, beyond any limit. Once it has a token,
/// the call takes another permit at the front of the queue, and checks the token again.
struct Admission: Layer {
    let limiter: RateLimiter
    let tokens: TokenStore?
    /// Reports why calls wait, if the limit was not set.
    let limitNotice: Notice?
    /// Whether every response says which token has signed its request; otherwise only a refusal does.
    let marksSigned: Bool

    func intercept(_ request: HTTPRequest, _ context: CallContext, next: @escaping Next) async throws(ServiceError)
        -> HTTPResponse
    {
        // A request after a redirect to another origin is not signed, and a request with its own credentials is not
        // changed.
        guard let tokens, !context.hasLeftOrigin, let session = context.transmission.session,
            request.headers["Authorization"] == nil
        else { return try await unsigned(request, context, next: next) }
        return try await signed(request, context, by: tokens, for: session, next: next)
    }

    @inline(never)
    private func unsigned(
        _ request: HTTPRequest, _ context: CallContext, next: @escaping Next
    ) async throws(ServiceError) -> HTTPResponse {
        let admitted = try await withPermit(context)
        guard let prover = prover(of: admitted) else { return try await next(request, admitted) }
        return try await proved(request, by: prover, admitted, next: next)
    }

    /// Returns what proves that the sender of a request that no token signs has a key; `nil` if nothing does.
    @inline(never)
    private func prover(of context: CallContext) -> TokenProver? {
        context.hasLeftOrigin ? nil : context.transmission.rules.prover
    }

    @inline(never)
    private func signed(
        _ request: HTTPRequest, _ context: CallContext, by tokens: TokenStore, for session: UUID, next: @escaping Next
    ) async throws(ServiceError) -> HTTPResponse {
        let admitted = try await admit(request, context, signedBy: tokens, for: session)
        if let prover = admitted.prover {
            return try await proved(admitted.request, by: prover, admitted.context, next: next)
        }
        return note(try await next(admitted.request, admitted.context), signedWith: admitted.context.accessToken)
    }

    /// Notes which token has signed the request of a response, and whether the server has accepted it.
    @inline(never)
    private func note(_ response: HTTPResponse, signedWith access: String?) -> HTTPResponse {
        guard let access else { return response }
        if (200..<400).contains(response.status) { tokens?.accept(access) }
        guard marksSigned || response.status == 401 else { return response }
        var response = response
        response.provenance.accessToken = access
        return response
    }

    /// Sends a request with a proof that its sender has the key of the token. If the server wants another nonce in the
    /// proof, the request is sent once more, with a permit of its own (S13).
    @inline(never)
    private func proved(
        _ request: HTTPRequest, by prover: TokenProver, _ context: CallContext, next: @escaping Next
    ) async throws(ServiceError) -> HTTPResponse {
        var (request, context) = (request, context)
        let (time, token) = (context.transmission.time, context.accessToken)
        let proof = try prover.proof(of: request, token: token, at: time.date)
        request.headers[TokenProver.header] = proof.text
        let response = try await next(request, context)
        let isWorthRepeating = prover.learn(from: response, to: request, sentWith: proof.nonce)
        guard isWorthRepeating, request.body?.isReplayable ?? true else {
            return note(response, signedWith: token)
        }
        context.isUrgent = true
        context.permit = try await permit(for: context)
        let second = try prover.proof(of: request, token: token, at: time.date)
        request.headers[TokenProver.header] = second.text
        let final = try await next(request, context)
        _ = prover.learn(from: final, to: request, sentWith: second.nonce)
        return note(final, signedWith: token)
    }

    @inline(never)
    private func withPermit(_ context: CallContext) async throws(ServiceError) -> CallContext {
        var context = context
        context.permit = try await permit(for: context)
        return context
    }

    private func permit(for context: CallContext) async throws(ServiceError) -> Permit {
        try await limiter.permit(for: context.transmission, isUrgent: context.isUrgent, explaining: limitNotice)
    }

    /// A request that is signed and has its permit.
    private struct Admitted {
        var request: HTTPRequest
        var context: CallContext
        /// What proves that the sender has the key of the token; `nil` if the token is bound to none.
        var prover: TokenProver?
        /// Whether the token should be replaced soon.
        var isRefreshDue = false
    }

    /// Waits until a permit and a valid token are available at the same time, and signs the request with it.
    @inline(never)
    private func admit(
        _ request: HTTPRequest, _ context: CallContext, signedBy tokens: TokenStore, for session: UUID
    ) async throws(ServiceError) -> Admitted {
        // A send before this one may have outlived the session. Nothing could sign what would wait here.
        if context.isUrgent || context.isRedirected, let reason = tokens.end(of: session) { throw reason }
        var context = context
        while true {
            let hasSpent = hasSpentToken(context)
            context = try await withPermit(context)
            if let admitted = try sign(request, context, by: tokens, for: session, hasSpent: hasSpent) {
                // An aging token is good enough. Its refresh runs beside the call, which must not wait for that with
                // its permit (T11, T13).
                if admitted.isRefreshDue { await tokens.refreshBeside(session) }
                return admitted
            }
            context.permit?.giveBack()
            context = try await withToken(of: session, from: tokens, context)
        }
    }

    /// Whether the call has waited for a token that had already expired when it was saved. It is sent as it is: another
    /// one would be no better, and the call would ask for tokens without end.
    @inline(never)
    private func hasSpentToken(_ context: CallContext) -> Bool {
        context.awaited?.token.hasExpired(at: context.transmission.time.date) ?? false
    }

    /// Signs the request with the token that is valid now; returns `nil` if there is none.
    @inline(never)
    private func sign(
        _ request: HTTPRequest, _ context: CallContext, by tokens: TokenStore, for session: UUID, hasSpent: Bool
    ) throws(ServiceError) -> Admitted? {
        let current = try tokens.currentToken(of: session)
        guard let token = current?.token ?? (hasSpent ? context.awaited?.token : nil) else { return nil }
        var admitted = Admitted(request: request, context: context)
        admitted.request.headers["Authorization"] = token.authorization
        admitted.context.accessToken = token.accessToken
        admitted.prover = token.proofKey.map { TokenProver(key: $0, nonces: tokens.proofNonces) }
        admitted.isRefreshDue = current?.isRefreshDue ?? false
        return admitted
    }

    @inline(never)
    private func withToken(
        of session: UUID, from tokens: TokenStore, _ context: CallContext
    ) async throws(ServiceError) -> CallContext {
        var context = context
        context.awaited = AwaitedToken(try await context.transmission.token(of: session, from: tokens))
        context.isUrgent = true
        return context
    }
}

extension RateLimiter {
    /// Waits for the permit of a send, and reports how long that took. A call made by a refresh is urgent: otherwise it
    /// would wait behind the calls that wait for the refresh. The notice is reported if the call has to wait.
    @inline(never)
    func permit(
        for transmission: Transmission, isUrgent: Bool, explaining notice: Notice?
    ) async throws(ServiceError) -> Permit {
        let (cost, isUrgent) = (transmission.rules.permits, isUrgent || transmission.settings.isRefreshCall)
        if let taken = try takeAtOnce(cost: cost, isUrgent: isUrgent) {
            return Permit(of: self, cost: cost, taken: taken, before: transmission.deadline)
        }
        noteWait(of: transmission, explaining: notice)
        let grant = try await transmission.run { (scope: CallScope) async throws(ServiceError) in
            try await take(cost: cost, isUrgent: isUrgent, before: transmission.deadline, in: scope)
        }
        return permit(for: grant, cost: cost, of: transmission)
    }

    @inline(never)
    private func noteWait(of transmission: Transmission, explaining notice: Notice?) {
        transmission.note(.waitingForPermit)
        notice?.print()
        if let notice, transmission.settings.isHeard, let text = notice.take() { transmission.report(.warned(text)) }
    }

    @inline(never)
    private func permit(for grant: Grant, cost: Int, of transmission: Transmission) -> Permit {
        transmission.noteWait(forPermit: grant.wait)
        return Permit(of: self, cost: cost, taken: grant.taken, before: transmission.deadline)
    }
}

extension Transmission {
    /// Waits for a token of the session that is valid now.
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
        // The wait for the token does not explain what happens from now on.
        note(.preparing)
        report(.waitedForToken(start.duration(to: time.now)))
        return token
    }
}

extension Token {
    fileprivate func hasExpired(at date: Date) -> Bool {
        expiry.map { $0 <= date } ?? false
    }
}
