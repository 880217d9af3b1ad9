/// The transport of a platform without one: every send fails and says what to do.
package struct UnavailableTransport: Transport {
    private let advice: String

    /// Creates a transport whose sends fail with this advice.
    package init(advice: String) {
        self.advice = advice
    }

    /// Fails with `.transport(.unavailable)`.
    package func send(_ request: HTTPRequest, context: TransportContext) async throws -> HTTPResponse {
        throw ServiceError.transport(TransportFailure(.unavailable, advice))
    }

    /// Does nothing.
    package func shutdown() async {}

    /// Always connected, so that calls fail with the transport's own error.
    package var connectivity: Connectivity { .always }
}
