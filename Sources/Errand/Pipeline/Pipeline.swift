/// The layers of a client and its user's middlewares, folded into one function when the client is made.
///
/// The order is the design (the deadline is no room of its own: it bounds every wait, see `Call.run`):
/// - the user's middlewares for a call see each call once, before anything of ours;
/// - a retry repeats everything below it, and its pauses hold no permit;
/// - an attempt that would find no network takes no permit;
/// - a replay after a 401 stands above the redirects: what it repeats is the request, not the last hop;
/// - each hop of a redirect is a send of its own, so admission is below: there, and only there, a send waits for its permit,
///   unsigned, and is then signed with the token of that moment, unless it has left the origin;
/// - the user's middlewares for an attempt see what is really sent, hop by hop.
enum Pipeline {
    static func folding(
        perCall: [any Middleware], layers: [any Layer], perAttempt: [any Middleware], into send: @escaping Next
    ) -> Next {
        let rooms = perCall.map(Adapter.init) as [any Layer] + layers + perAttempt.map(Adapter.init)
        var next = send
        for room in rooms.reversed() { next = entering(room, then: next) }
        return next
    }

    private static func entering(_ room: any Layer, then next: @escaping Next) -> Next {
        { (request: HTTPRequest, context: CallContext) async throws(ServiceError) -> HTTPResponse in
            try await room.intercept(request, context, next: next)
        }
    }

    /// The door at which a user's middleware comes in: its errors are translated here, and nowhere else.
    private struct Adapter: Layer {
        let middleware: any Middleware

        func intercept(
            _ request: HTTPRequest, _ context: CallContext, next: @escaping Next
        ) async throws(ServiceError) -> HTTPResponse {
            do {
                return try await middleware.intercept(request, context, next: next)
            } catch {
                throw ServiceError(error) { error in
                    let name = String(reflecting: type(of: middleware))
                    let message = "\(name) threw \(foreignName(of: error))"
                    return .transport(
                        TransportFailure(
                            .middleware, message, mayHaveReachedServer: context.call.read { $0.sent != nil }))
                }
            }
        }
    }
}
