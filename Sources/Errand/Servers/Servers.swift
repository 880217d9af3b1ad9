/// Chooses the server of each send, and learns from its end. While no server may be asked, a send fails before it
/// waits for anything.
///
/// The layers above see the client's own URL, so that a stored response belongs to it, whichever server has sent it.
/// The choice is made late, in admission, when the send has its permit: a server may fail while others wait for
/// theirs.
struct Servers: Layer {
    let pool: ServerPool
    /// The longest pause that a server may ask for.
    let longestPause: Duration
    /// Whether attempt middleware sees the sends.
    let hasMiddlewareBelow: Bool
    /// Checks servers beside the calls; `nil` if calls do that.
    let probe: ServerProbe?

    func intercept(_ request: HTTPRequest, _ context: CallContext, next: @escaping Next) async throws(ServiceError)
        -> HTTPResponse
    {
        guard let (way, index) = try way(of: request, context) else { return try await next(request, context) }
        checkServers(beside: way, to: index, context, next: next)
        if let delay = hedgeDelay(of: request, context, on: way) {
            return try await hedged(request, context, on: way, after: delay, next: next)
        }
        do throws(ServiceError) {
            return way.end(try await next(request, context.entering(way)))
        } catch {
            way.end(error)
            throw error
        }
    }

    /// Returns the way of a request to a server, and the one that it would ask now; `nil` if it goes elsewhere. Throws
    /// if none may be asked.
    @inline(never)
    private func way(
        of request: HTTPRequest, _ context: CallContext
    ) throws(ServiceError) -> (way: ServerWay, index: Int)? {
        guard let asker = asker(of: request, context) else { return nil }
        let way = ServerWay(
            pool: pool, transmission: context.transmission, asker: asker, request: request, longestPause: longestPause,
            endpoint: pool.isHedging ? context.transmission.settings.endpointNumber : nil)
        return (way, try way.check())
    }

    /// Has a server probed, if one may be, and the request does not try one itself.
    @inline(never)
    private func checkServers(beside way: ServerWay, to index: Int, _ context: CallContext, next: @escaping Next) {
        guard let probe, !way.isBound, pool.isInUse(index) else { return }
        probe.start(of: pool, longestPause, at: context.time, through: next)
    }

    private func asker(of request: HTTPRequest, _ context: CallContext) -> ServerRecords.Asker? {
        guard let index = pool.list.index(of: request.url) else { return nil }
        let transmission = context.transmission
        if context.isBound || transmission.rules.server != nil || !pool.list.isForAny(request.url) {
            return ServerRecords.Asker(bound: index, mayTry: false)
        }
        let memory = transmission.servers
        let canRepeat = request.body?.isReplayable ?? true
        // It might take effect twice.
        if transmission.mayHaveActed, !request.isSafelyRepeatable(pool.rules), let last = memory.last {
            return ServerRecords.Asker(bound: last, mayTry: false)
        }
        let hasAttempts = transmission.attempts < transmission.rules.retry.attempts
        return ServerRecords.Asker(
            failed: memory.failed, mayTry: hasAttempts && canRepeat && request.isSafelyRepeatable(pool.rules))
    }
}

extension CallContext {
    /// The same context for a send on that way.
    @inline(never)
    func entering(_ way: any SendWay, isHedge: Bool = false) -> CallContext {
        var context = self
        (context.way, context.isHedge) = (way, isHedge)
        return context
    }
}

extension HTTPRequest {
    /// Whether it may be sent to another server after one may have received it.
    func isSafelyRepeatable(_ rules: ServerRules) -> Bool {
        method.isSafe || rules.shareKeys && headers["Idempotency-Key"] != nil
    }
}
