/// Stands where there is no transport: every send fails and says what to do.
public struct UnavailableTransport: Transport {
    private let advice: String

    /// Makes one that gives that advice.
    public init(advice: String) {
        self.advice = advice
    }

    /// Fails with `.transport(.unavailable)`.
    public func send(_ request: HTTPRequest, context: TransportContext) async throws -> HTTPResponse {
        throw ServiceError.transport(TransportFailure(.unavailable, advice))
    }

    /// Does nothing.
    public func shutdown() async {}

    /// Not asked for: the transport's own failure is the better answer.
    public var connectivity: Connectivity { .always }
}
