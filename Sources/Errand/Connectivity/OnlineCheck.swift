/// Lets no attempt through while there is no network: it fails at once, or waits, as the client is configured.
struct OnlineCheck: Layer {
    /// How often to look again while waiting. The system's own answer is no fresher than a second.
    private static let pause = Duration.milliseconds(500)

    let connectivity: Connectivity
    let rule: OfflineRule

    func intercept(_ request: HTTPRequest, _ context: CallContext, next: @escaping Next) async throws(ServiceError)
        -> HTTPResponse
    {
        if !connectivity(), !request.url.origin.isLoopback { try await waitForNetwork(context.call) }
        return try await next(request, context)
    }

    private func waitForNetwork(_ call: Call) async throws(ServiceError) {
        guard case .wait(let limit) = rule else { throw .noInternetConnection }
        let end = call.time.now.advanced(by: limit)
        call.note(.waitingForNetwork)
        try await call.run { (scope: CallScope) async throws(ServiceError) in
            while !connectivity() {
                let now = call.time.now
                guard now < end else { throw .noInternetConnection }
                try await call.time.sleep(until: min(now.advanced(by: Self.pause), end), in: scope)
            }
        }
    }
}
