#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Sends a request again with another token if the server refuses the token that signed it.
struct Replay: Layer {
    let tokens: TokenStore

    func intercept(_ request: HTTPRequest, _ context: CallContext, next: @escaping Next) async throws(ServiceError)
        -> HTTPResponse
    {
        let response = try await next(request, context)
        // A 401 after a redirect to another origin says nothing about our token, because that request did not carry it.
        guard response.status == 401, !response.headers.refusesNotToken,
            let refused = response.provenance.accessToken,
            let session = context.transmission.session, tokens.isRefreshable, request.body?.isReplayable ?? true
        else {
            return response
        }
        return try await replay(request, context, insteadOf: refused, of: session, next: next)
    }

    @inline(never)
    private func replay(
        _ request: HTTPRequest, _ context: CallContext, insteadOf refused: String, of session: UUID,
        next: @escaping Next
    ) async throws(ServiceError) -> HTTPResponse {
        var replay = context
        let token = try await context.transmission.waitForToken { (scope: CallScope) async throws(ServiceError) in
            try await tokens.token(of: session, insteadOf: refused, in: scope)
        }
        replay.awaited = AwaitedToken(token)
        replay.isUrgent = true
        // The replay is not replayed, even after a second 401: whatever is wrong, another token would not help.
        let final = try await next(request, replay)
        if final.status == 401, !final.headers.refusesNotToken, let refused = final.provenance.accessToken {
            tokens.refuseReplay(with: refused)
        }
        return final
    }
}
