/// Stops sends while there is no network: they fail at once or wait, as the client is configured.
struct OnlineCheck: Layer {
    /// The interval between checks while waiting. The system's view of the network is up to a second old anyway.
    private static let pause = Duration.milliseconds(500)

    let connectivity: Connectivity
    let rule: OfflineRule

    func intercept(_ request: HTTPRequest, _ context: CallContext, next: @escaping Next) async throws(ServiceError)
        -> HTTPResponse
    {
        let isAsked = connectivity.coversLoopback || !request.url.origin.isLoopback
        if isAsked, !connectivity() { try await waitForNetwork(context.transmission) }
        return try await next(request, context)
    }

    private func waitForNetwork(_ transmission: Transmission) async throws(ServiceError) {
        guard case .wait(let limit) = rule.kind else { throw .noInternetConnection }
        let end = transmission.time.now.advanced(by: limit)
        transmission.note(.waitingForNetwork)
        try await transmission.run { (scope: CallScope) async throws(ServiceError) in
            while !connectivity() {
                let now = transmission.time.now
                guard now < end else { throw .noInternetConnection }
                let next = min(now.advanced(by: Self.pause), end)
                try await transmission.time.sleep(until: next, for: .sleeper("the next check for a network"), in: scope)
            }
        }
    }
}

/// The behavior of a call without a network.
public struct OfflineRule: Sendable, Hashable, CustomStringConvertible {
    package enum Kind: Sendable, Hashable {
        case fail
        case wait(upTo: Duration)
    }

    package let kind: Kind

    /// The call fails at once with `.noInternetConnection`.
    public static let fail = OfflineRule(kind: .fail)
    /// Each attempt waits for the network, checks every 500 milliseconds, and fails with `.noInternetConnection` after
    /// this duration.
    public static func wait(upTo limit: Duration) -> OfflineRule { OfflineRule(kind: .wait(upTo: limit)) }

    /// The rule's name, and its duration.
    public var description: String { "\(kind)" }
}
