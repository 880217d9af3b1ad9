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
        guard isRefused(request, by: response) else { return response }
        return try await replay(request, context, after: response, next: next)
    }

    /// Whether the server has refused the token of a request that can be sent again.
    @inline(never)
    private func isRefused(_ request: HTTPRequest, by response: HTTPResponse) -> Bool {
        // A 401 after a redirect to another origin says nothing about our token, because that request did not carry it.
        guard response.status == 401, !response.headers.refusesNotToken,
            let access = response.provenance.accessToken
        else { return false }
        return tokens.isRefreshable && request.body?.isReplayable ?? true
            && tokens.live.mayReplay(to: request.place, insteadOf: access)
    }

    @inline(never)
    private func replay(
        _ request: HTTPRequest, _ context: CallContext, after response: HTTPResponse, next: @escaping Next
    ) async throws(ServiceError) -> HTTPResponse {
        guard let refused = response.provenance.accessToken, let session = context.transmission.session else {
            return response
        }
        var replay = context
        let token = try await context.transmission.waitForToken { (scope: CallScope) async throws(ServiceError) in
            try await tokens.token(of: session, insteadOf: refused, in: scope)
        }
        replay.awaited = AwaitedToken(token)
        replay.isUrgent = true
        // The replay is not replayed, even after a second 401: whatever is wrong, another token would not help.
        let final = try await next(request, replay)
        if final.status == 401, !final.headers.refusesNotToken, let refused = final.provenance.accessToken {
            tokens.live.refuseReplay(with: refused, of: request.place)
        }
        return final
    }
}

extension HTTPRequest {
    /// The endpoint that it is for.
    fileprivate var place: String { "\(method) \(url.origin)\(url.path)" }
}
