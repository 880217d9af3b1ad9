import Synchronization

/// The transport of a client that brings none of its own.
///
/// On Linux all such clients of a process share one, which ends with the last of them: a thread and the connections to
/// a server are then there once, however many clients there are. Elsewhere each client has its own.
final class DefaultTransport: Sendable {
    let transport: any Transport
    private let isGivenUp = Atomic(false)

    deinit {
        _ = leave()
    }

    #if os(Linux)
    private struct Sharing {
        var transport: CurlTransport?
        var clients = 0
    }

    private static let sharing = Lock(Sharing())
    private let curl: CurlTransport
    private let isShared: Bool

    /// Joins the clients of the process that share a transport. A client that trusts a certificate of its own has its
    /// own.
    init(trusting certificate: DevelopmentCertificate? = nil) {
        if let certificate {
            var options = CurlTransport.Options()
            options.developmentCertificate = certificate
            curl = CurlTransport(options)
        } else {
            curl = Self.sharing.withLock { sharing in
                let transport = sharing.transport ?? CurlTransport()
                sharing.transport = transport
                sharing.clients += 1
                return transport
            }
        }
        isShared = certificate == nil
        transport = curl
    }

    /// Ends what is left of the client's own calls, which have all ended themselves; with the last client, ends the
    /// transport.
    func end(for client: TransportContext.Client) async {
        await curl.endSends(of: client)
        // A stream of a client that is gone may still be read. Then the transport ends with that stream.
        if leave(), curl.isIdle { await curl.shutdown() }
    }

    /// Leaves the clients that share the transport. Returns whether this was the last.
    private func leave() -> Bool {
        guard !isGivenUp.exchange(true, ordering: .relaxed) else { return false }
        guard isShared else { return true }
        let last: CurlTransport? = Self.sharing.withLock { sharing in
            sharing.clients -= 1
            return sharing.clients == 0 ? sharing.transport.take() : nil
        }
        return last != nil
    }
    #else
    /// Creates the platform's transport.
    init(trusting certificate: DevelopmentCertificate? = nil) {
        #if URLSession || canImport(Darwin)
        var options = URLSessionTransport.Options()
        options.developmentCertificate = certificate
        transport = URLSessionTransport(options)
        #else
        transport = UnavailableTransport(
            advice: "none is built in on this platform; set `transport` in the client's configuration, or try the "
                + "package trait URLSession")
        #endif
    }

    /// Ends the transport.
    func end(for client: TransportContext.Client) async {
        await transport.shutdown()
    }

    private func leave() -> Bool { true }
    #endif
}

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

    /// Nothing sets it apart: it sends nothing.
    package var identity: String? { "" }

    /// Always connected, so that calls fail with the transport's own error.
    package var connectivity: Connectivity { .always }
}
