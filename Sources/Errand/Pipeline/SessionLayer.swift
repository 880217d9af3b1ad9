#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Waits for the session that signs a call, if the store has not loaded it yet.
///
/// A session that is there when a call begins is bound to the call before any middleware sees it: a middleware may
/// wait, and a call of one user must not be sent with the token of the next (T7).
struct SessionLayer: Layer {
    let tokens: TokenStore?
    let cleartext: CleartextRule

    func intercept(_ request: HTTPRequest, _ context: CallContext, next: @escaping Next) async throws(ServiceError)
        -> HTTPResponse
    {
        try await sign(request, in: context.transmission)
        return try await next(request, context)
    }

    /// Returns the session that would sign the request now; `nil` if none does, or the request has to wait for it.
    func present(for request: HTTPRequest, _ authentication: CallOptions.Authentication) -> UUID? {
        request.usesSession(for: authentication) ? present(for: authentication) : nil
    }

    /// Returns the session that is there now; `nil` if a call that is signed like this has none, or has to wait for it.
    func present(for authentication: CallOptions.Authentication) -> UUID? {
        // A call that the store's own refresh makes cannot wait for that refresh.
        guard authentication != .none, let tokens, !tokens.isRefreshingHere else { return nil }
        return tokens.presentSession
    }

    /// Whether `present` finds the session that a request would have. Otherwise the store has to load it first.
    func isKnown(for request: HTTPRequest, _ authentication: CallOptions.Authentication) -> Bool {
        guard request.usesSession(for: authentication), let tokens, !tokens.isRefreshingHere else { return true }
        return tokens.live.isLoaded || !tokens.outlivesProcess
    }

    /// Finds the session of a request before it is sent.
    // Inlined, because most calls do not wait here, and another function that could wait would cost each of them.
    @inline(__always)
    func sign(_ request: HTTPRequest, in transmission: Transmission) async throws(ServiceError) {
        if try !signAtOnce(request, in: transmission) { try await signLater(request, in: transmission) }
    }

    /// Finds the session without a wait. Returns `false` if the store has to load it first.
    private func signAtOnce(_ request: HTTPRequest, in transmission: Transmission) throws(ServiceError) -> Bool {
        let authentication = transmission.settings.rules.authentication
        guard request.usesSession(for: authentication) else {
            try use(nil, for: request, in: transmission)
            return true
        }
        let session = transmission.session ?? present(for: authentication)
        if session == nil, tokens == nil, authentication == .required { throw .signInRequired }
        guard session != nil || tokens?.isRefreshingHere ?? true else { return false }
        try use(session, for: request, in: transmission)
        return true
    }

    @inline(never)
    private func signLater(_ request: HTTPRequest, in transmission: Transmission) async throws(ServiceError) {
        guard let tokens else { return }
        transmission.note(.waitingForToken)
        let session: UUID?
        do throws(ServiceError) {
            session = try await transmission.runInChild { () async throws(ServiceError) in
                try await tokens.session()
            }
        } catch .signInRequired where transmission.rules.authentication == .optional {
            session = nil
        }
        transmission.note(.preparing)
        try use(session, for: request, in: transmission)
    }

    private func use(_ session: UUID?, for request: HTTPRequest, in transmission: Transmission) throws(ServiceError) {
        try request.checkCleartext(by: cleartext, isSigned: session != nil)
        transmission.sign(in: session)
    }
}

extension HTTPRequest {
    /// Whether a session signs the request of a call with that authentication, if there is one. A request with
    /// credentials of its own needs none.
    func usesSession(for authentication: CallOptions.Authentication) -> Bool {
        authentication != .none && headers["Authorization"] == nil
    }
}
