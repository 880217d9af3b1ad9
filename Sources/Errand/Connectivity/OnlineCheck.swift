/// Stops attempts while there is no network: they fail at once or wait, as the client is configured.
struct OnlineCheck: Layer {
    /// The interval between checks while waiting. The system's view of the network is up to a second old anyway.
    private static let pause = Duration.milliseconds(500)

    let connectivity: Connectivity
    let rule: OfflineRule

    func intercept(_ request: HTTPRequest, _ context: CallContext, next: @escaping Next) async throws(ServiceError)
        -> HTTPResponse
    {
        if !request.url.origin.isLoopback, !connectivity() { try await waitForNetwork(context.call) }
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
                let next = min(now.advanced(by: Self.pause), end)
                try await call.time.sleep(until: next, for: .sleeper("the next check for a network"), in: scope)
            }
        }
    }
}
