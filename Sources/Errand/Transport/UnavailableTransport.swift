/// Stands where there is no transport: every send fails and says what to do.
package struct UnavailableTransport: Transport {
    private let advice: String

    /// Makes one that gives that advice.
    package init(advice: String) {
        self.advice = advice
    }

    /// Fails with `.transport(.unavailable)`.
    package func send(_ request: HTTPRequest, context: TransportContext) async throws -> HTTPResponse {
        throw ServiceError.transport(TransportFailure(.unavailable, advice))
    }

    /// Does nothing.
    package func shutdown() async {}

    /// Not asked for: the transport's own failure is the better answer.
    package var connectivity: Connectivity { .always }
}
