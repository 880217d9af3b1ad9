/// Checks a server that was set aside with a request of its own, which no call waits for.
struct ServerProbe: Sendable {
    let path: EndpointPath
    let rules: CallRules
    let background: BackgroundSends
    /// Returns the request, at the first server; `nil` if the client's parameters fit into no query, so that it can
    /// send no `GET` at all.
    let request: @Sendable () -> HTTPRequest?

    /// Has a server checked, if one may be tried.
    @inline(never)
    func start(
        of pool: ServerPool, _ longestPause: Duration, at time: any TimeSource, through next: @escaping Middleware.Next
    ) {
        guard let request = request(), let (index, ticket) = pool.beginProbe(at: time.now) else { return }
        var send = BackgroundSend(request, path: path, rules: rules)
        send.layers = { (request: HTTPRequest, context: CallContext) async throws(ServiceError) in
            context.transmission.beginAttempt()
            let way = ServerWay(
                probing: index, ticket, pool: pool, transmission: context.transmission, request: request,
                longestPause: longestPause)
            do throws(ServiceError) {
                return way.end(try await next(request, context.entering(way)))
            } catch {
                way.end(error)
                throw error
            }
        }
        let transmission = background.start(send) { _ in }
        // The client has ended.
        if transmission == nil { _ = pool.end(index, ticket, .neutral, by: time) }
    }
}
