#if URLSession || canImport(Darwin)
import Foundation
#if canImport(FoundationNetworking)
import FoundationNetworking
#endif
#if canImport(Security)
public import Security
#endif

/// Sends requests with Foundation's `URLSession`: the default on Apple's platforms. On Linux it is there with the
/// package trait `URLSession`, for tests rather than for use: Foundation's own faults there are the reason why
/// `CurlTransport` is the default.
///
/// One session serves the requests of a transport and ends with `shutdown()`, or when the transport itself goes. A
/// request that could do harm twice gets a session, and so a connection, of its own: `URLSession` repeats what it sent
/// on a kept connection that was dead. It follows no redirect, keeps no cookies and no credentials, and caches nothing.
/// A task that is cancelled cancels its request and returns when the session has let go of it. Bodies that are streamed
/// out are collected first.
///
/// An answer that is wanted as a stream is returned when its head is there. On Apple's platforms the request is
/// suspended while nobody reads and `Options.readAhead` bytes wait; on Linux, where a suspended request would be sent
/// again, only the limit on the whole body holds.
public final class URLSessionTransport: Transport {
    /// How requests are sent.
    public struct Options: Sendable {
        /// How many connections one host may get. More requests than that wait for each other.
        public var connectionsPerHost = 1024
        /// How many bytes of a streamed answer may wait for their reader before no more are asked for. What is under
        /// way then comes on top.
        public var readAhead = 256 << 10
        #if canImport(Security)
        /// Decides whether a server is trusted, in the place of the system: given what it showed and its host, `true`
        /// to go on. A closure that pins a key still has to ask the system (`SecTrustEvaluateWithError`). Refusal is
        /// `.transport(.untrustedCertificate)`.
        public var trusts: (@Sendable (SecTrust, String) -> Bool)?
        #endif

        /// Trusts what the system trusts.
        public init() {}
    }

    private let options: Options
    private let exchanges: URLSessionExchanges

    /// Makes a transport. Its session is made with the first request.
    public init(_ options: Options = Options()) {
        self.options = options
        exchanges = URLSessionExchanges(options)
    }

    /// Sends the request, and returns the answer when its body is complete, or when its head is if a stream is wanted.
    public func send(_ request: HTTPRequest, context: TransportContext) async throws -> HTTPResponse {
        try await context.bounded { try await respond(to: request, context) }
    }

    private func respond(to request: HTTPRequest, _ context: TransportContext) async throws -> HTTPResponse {
        let body = try await request.body?.collect(upTo: .max)
        let exchange = URLSessionExchange(context, readAhead: options.readAhead)
        let outgoing = try URLRequest(request, body: body)
        let isKept = Self.suitsKeptConnection(request, body)
        return try await withTaskCancellationHandler {
            // A cancellation that came before this found nothing to end.
            if Task.isCancelled { throw ServiceError.cancelled }
            try exchanges.begin(exchange, outgoing, inKeptSession: isKept)
            return try await exchange.response()
        } onCancel: {
            exchange.stop(.cancelled)
        }
    }

    /// Ends all sessions and their connections; sends that are under way fail, and so do later ones.
    public func shutdown() async {
        for exchange in exchanges.close() { exchange.stop(.transportShutDown(mayHaveReachedServer: true)) }
        await exchanges.closed()
    }

    /// A session sends a request a second time, unasked, when a kept connection turns out to be dead. It cannot if it
    /// has no old connection to begin with.
    private static func suitsKeptConnection(_ request: HTTPRequest, _ body: Data?) -> Bool {
        #if canImport(FoundationNetworking)
        // The second time stops half-way, for good, if there is a body to be sent.
        guard body?.isEmpty ?? true else { return false }
        #endif
        return request.isRepeatable
    }

    // Streams that somebody still reads may go on to their end, and the session with them.
    deinit {
        exchanges.close()
    }
}
#endif
