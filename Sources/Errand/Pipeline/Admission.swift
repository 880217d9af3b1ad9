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
    /// Where the tokens belong.
    let boundary: OriginBoundary
    /// Reports why calls wait, if the limit was not set.
    let limitNotice: Notice?
    /// Whether every response says which token has signed its request; otherwise only a refusal does.
    let marksSigned: Bool
    /// Whether something below may lead a request elsewhere.
    let mayBeRerouted: Bool

    func intercept(_ request: HTTPRequest, _ context: CallContext, next: @escaping Next) async throws(ServiceError)
        -> HTTPResponse
    {
        // A request after a redirect to another origin is not signed, and a request with its own credentials is not
        // changed.
        guard let tokens, mayProve(request, context), let session = context.transmission.session,
            request.headers["Authorization"] == nil
        else { return try await unsigned(request, context, next: next) }
        return try await signed(request, context, by: tokens, for: session, next: next)
    }

    @inline(never)
    private func unsigned(
        _ request: HTTPRequest, _ context: CallContext, next: @escaping Next
    ) async throws(ServiceError) -> HTTPResponse {
        try await pass(admitted(request, context), next: next)
    }

    /// A request with a permit.
    private struct Admitted {
        var request: HTTPRequest
        var context: CallContext
    }

    @inline(never)
    private func admitted(_ request: HTTPRequest, _ context: CallContext) async throws(ServiceError) -> Admitted {
        var admitted = Admitted(request: request, context: context)
        try await takePermit(for: &admitted.context)
        try admitted.context.way?.point(&admitted.request)
        return admitted
    }

    @inline(never)
    private func pass(_ admitted: Admitted, next: @escaping Next) async throws(ServiceError) -> HTTPResponse {
        guard let sender = sender(of: admitted.request, admitted.context) else {
            return try await next(admitted.request, admitted.context)
        }
        return try await proved(admitted.request, by: sender, admitted.context, next: next)
    }

    /// Whether the request goes where the credentials of the client belong, and by no way that a stranger has chosen.
    private func mayProve(_ request: HTTPRequest, _ context: CallContext) -> Bool {
        !context.hasLeftOrigin && boundary.contains(request.url.origin)
    }

    /// Whether a request with credentials went where they belong. What another server says is about none of them: it
    /// accepts no token, refuses none, and gives no nonce.
    private func hasArrived(_ context: CallContext) -> Bool {
        guard mayBeRerouted, let server = context.server else { return true }
        return boundary.contains(server)
    }

    /// Returns what proves who sends a request that no token signs; `nil` if nothing does.
    @inline(never)
    private func sender(of request: HTTPRequest, _ context: CallContext) -> SenderProof? {
        mayProve(request, context) ? context.transmission.rules.sender : nil
    }

    @inline(never)
    private func signed(
        _ request: HTTPRequest, _ context: CallContext, by tokens: TokenStore, for session: UUID, next: @escaping Next
    ) async throws(ServiceError) -> HTTPResponse {
        var (request, context) = (request, context)
        if let prover = try await admit(&request, &context, signedBy: tokens, for: session) {
            return try await proved(request, by: SenderProof(key: prover), context, next: next)
        }
        return note(try await next(request, context), signedIn: context)
    }

    /// Notes which token has signed the request of a response, and whether the server has accepted it.
    @inline(never)
    private func note(_ response: HTTPResponse, signedIn context: CallContext) -> HTTPResponse {
        guard let access = context.accessToken, hasArrived(context) else { return response }
        if (200..<400).contains(response.status) { tokens?.live.accept(access) }
        guard marksSigned || response.status == 401 else { return response }
        var response = response
        response.provenance.accessToken = access
        return response
    }

    /// Sends a request with what proves who sends it. If the server wants another nonce in the proof of the key, the
    /// request is sent once more, with a permit and proofs of its own (S13, S15).
    @inline(never)
    private func proved(
        _ request: HTTPRequest, by sender: SenderProof, _ context: CallContext, next: @escaping Next
    ) async throws(ServiceError) -> HTTPResponse {
        var context = context
        let first = try await proven(request, by: sender, context)
        let response = try await next(first.request, context)
        guard hasArrived(context) else { return response }
        let nonce = sender.key?.learn(from: response, to: first.request, sentWith: first.nonce)
        guard let nonce, request.body?.isReplayable ?? true else {
            return note(response, signedIn: context)
        }
        context.isUrgent = true
        try await takePermit(for: &context)
        let second = try await proven(request, by: sender, context, nonce: nonce)
        let final = try await next(second.request, context)
        guard hasArrived(context) else { return final }
        sender.key?.learn(from: final, to: second.request, sentWith: second.nonce)
        return note(final, signedIn: context)
    }

    /// Returns the request with proofs for one send, and the nonce in the proof of the key.
    @inline(never)
    private func proven(
        _ request: HTTPRequest, by sender: SenderProof, _ context: CallContext, nonce: String? = nil
    ) async throws(ServiceError) -> (request: HTTPRequest, nonce: String?) {
        let transmission = context.transmission
        var request = request
        if let app = sender.app {
            if !context.isHedge { transmission.note(.preparing) }
            let unproven = request
            // A closure of the user's may make the proof, and wait for anything.
            request = try await transmission.runInChild { () async throws(ServiceError) in try await app(unproven) }
        }
        guard let key = sender.key else { return (request, nil) }
        let proof = try key.proof(
            of: request, token: context.accessToken, nonce: nonce, at: transmission.time.date)
        request.headers[TokenProver.header] = proof.text
        return (request, proof.nonce)
    }

    @inline(never)
    private func takePermit(for context: inout CallContext) async throws(ServiceError) {
        let own = context.transmission.rules.limiter
        if context.isHedge {
            context.permit = try (own ?? limiter).permitAtOnce(for: context.transmission)
            return
        }
        context.permit = try await (own ?? limiter).permit(
            for: context.transmission, isUrgent: context.isUrgent, explaining: own == nil ? limitNotice : nil)
    }

    /// Waits until a permit and a valid token are available at the same time, and signs the request with it. Returns
    /// what proves that the sender has the key of the token; `nil` if the token is bound to none.
    @inline(never)
    private func admit(
        _ request: inout HTTPRequest, _ context: inout CallContext, signedBy tokens: TokenStore, for session: UUID
    ) async throws(ServiceError) -> TokenProver? {
        // A send before this one may have outlived the session. Nothing could sign what would wait here.
        if context.isUrgent || context.isRedirected, let reason = tokens.live.end(of: session) { throw reason }
        while true {
            let hasSpent = hasSpentToken(context)
            try await takePermit(for: &context)
            if let signer = try sign(&request, &context, by: tokens, for: session, hasSpent: hasSpent) {
                try context.way?.point(&request)
                // An aging token is good enough. Its refresh runs beside the call, which must not wait for that with
                // its permit (T11, T13).
                if signer.isRefreshDue { await tokens.refreshBeside(session) }
                return signer.prover
            }
            context.permit?.giveBack()
            if context.isHedge { throw .cancelled }
            try await waitForToken(of: session, from: tokens, &context)
        }
    }

    /// Whether the call has waited for a token that had already expired when it was saved. It is sent as it is: another
    /// one would be no better, and the call would ask for tokens without end.
    @inline(never)
    private func hasSpentToken(_ context: CallContext) -> Bool {
        context.awaited?.token.hasExpired(at: context.transmission.time.date) ?? false
    }

    /// Signs the request with the token that is valid now. Returns what proves that the sender has the key of the
    /// token, and whether the token should be replaced soon; `nil` if there is none.
    @inline(never)
    private func sign(
        _ request: inout HTTPRequest, _ context: inout CallContext, by tokens: TokenStore, for session: UUID,
        hasSpent: Bool
    ) throws(ServiceError) -> (prover: TokenProver?, isRefreshDue: Bool)? {
        if let token = context.awaited?.token, token.isMisfit { throw token.misfit }
        let current = try tokens.live.currentToken(of: session)
        guard let token = current?.token ?? (hasSpent ? context.awaited?.token : nil) else { return nil }
        if token.isMisfit { throw token.misfit }
        request.headers["Authorization"] = token.authorization
        context.accessToken = token.accessToken
        let prover = token.proofKey.map { TokenProver(key: $0, nonces: tokens.proofNonces) }
        return (prover, current?.isRefreshDue ?? false)
    }

    @inline(never)
    private func waitForToken(
        of session: UUID, from tokens: TokenStore, _ context: inout CallContext
    ) async throws(ServiceError) {
        context.awaited = AwaitedToken(try await context.transmission.token(of: session, from: tokens))
        context.isUrgent = true
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

    /// Returns a permit that is there. Throws if there is none.
    func permitAtOnce(for transmission: Transmission) throws(ServiceError) -> Permit {
        let cost = transmission.rules.permits
        guard let taken = try takeAtOnce(cost: cost, isUrgent: false) else { throw .cancelled }
        return Permit(of: self, cost: cost, taken: taken, before: transmission.deadline)
    }

    @inline(never)
    private func noteWait(of transmission: Transmission, explaining notice: Notice?) {
        transmission.note(.waitingForPermit)
        guard let notice else { return }
        notice.print()
        transmission.warn { notice.take() }
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
}

extension Token {
    fileprivate func hasExpired(at date: Date) -> Bool {
        expiry.map { $0 <= date } ?? false
    }
}
