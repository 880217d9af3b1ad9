#if URLSession || canImport(Darwin)
#if canImport(FoundationNetworking)
import Foundation
public import FoundationNetworking
#else
public import Foundation
#endif

/// A transport that uses Foundation's `URLSession`: the default on Apple's platforms. On Linux it is available with the
/// package trait `URLSession`, for tests rather than for use: because of Foundation's own faults there, `CurlTransport`
/// is the default.
///
/// One session serves the requests of a transport and ends with `shutdown()`, or when the transport is released. A
/// request that is not safe to repeat gets a session, and so a connection, of its own: `URLSession` resends a request
/// if a kept connection turns out to be dead. The transport follows no redirects, keeps no cookies and no credentials,
/// and caches nothing. A canceled task cancels its request and returns when the session has released it. Streamed
/// bodies are written to a temporary file first; on Apple's platforms, a file that is the whole body is sent as it is.
///
/// A streamed response is returned when its head has arrived. On Apple's platforms the request is suspended while
/// no reader takes and `Options.readAhead` bytes wait; on Linux, where a suspended request would be sent again, only
/// the limit on the whole body applies.
public final class URLSessionTransport: Transport {
    /// The settings of the transport.
    public struct Options: Sendable {
        /// The greatest number of connections to one host, 1024 by default. Further requests wait.
        public var connectionsPerHost = 1024
        /// The number of bytes of a streamed response that may wait for their reader before the request is suspended,
        /// 256 KiB by default. Bytes that are already on their way are added.
        public var readAhead = 256 << 10
        /// A closure that changes the configuration of the sessions before the first request; `nil` by default.
        ///
        ///     options.configure = { $0.networkServiceType = .responsiveData }
        ///
        /// It is for what the transport leaves to the system: proxies, the type of service, whether cellular networks
        /// may be used. What the client does itself cannot be changed here, because a session would do it unseen: with
        /// a cache, a cookie store, a credential store or headers, each call fails with `.invalidRequest`, whose text
        /// names the client's own setting. The numbers of connections and the timeouts are the transport's.
        public var configure: (@Sendable (URLSessionConfiguration) -> Void)?
        /// A certificate of a server under development to trust at some hosts, on Apple's platforms: see
        /// ``DevelopmentCertificate``. On Linux, where `URLSession` does not ask about servers, calls to these hosts
        /// fail with `.invalidRequest`.
        public var developmentCertificate: DevelopmentCertificate?
        #if canImport(Darwin)
        /// The kinds of networks that requests may use; every network by default. Without one that is allowed, a call
        /// does what ``Configuration/offline`` says.
        public var network = NetworkAccess.any
        /// Whether the servers are known to support HTTP/3, so that the first request to one tries it at once; `false`
        /// by default. Without it, `URLSession` uses HTTP/3 once the DNS or a response has announced it. A server
        /// without HTTP/3 is reached all the same, after a vain attempt.
        public var assumesHTTP3 = false
        var serverTrust = ServerTrust()
        #endif

        /// Creates the default options, which trust what the system trusts.
        public init() {}
    }

    /// It ends its waits itself, and counts what the system has sent.
    public var features: TransportFeatures { [.observesStops, .countsUploads] }

    #if canImport(Darwin)
    /// Sets transports apart with closures that decide about servers or change the sessions, and those that trust a
    /// server under development. Closures cannot be compared: clients whose closures differ need a cache each.
    public var identity: String? { identity(options.serverTrust.judge == nil ? [] : ["trusts"]) }
    #else
    /// Sets transports apart with a closure that changes the sessions. Closures cannot be compared: clients whose
    /// closures differ need a cache each.
    public var identity: String? { identity([]) }
    #endif

    private func identity(_ facts: [String]) -> String {
        let own = options.configure == nil ? [] : ["configured"]
        let certificate = options.developmentCertificate.map { [$0.identity] } ?? []
        return (facts + own + certificate).joined(separator: " ")
    }

    /// A warning about a development certificate.
    public var warning: String? { options.developmentCertificate?.warning }

    private let options: Options
    private let exchanges: URLSessionExchanges

    /// Creates a transport. The first request creates its session.
    public init(_ options: Options = Options()) {
        self.options = options
        exchanges = URLSessionExchanges(options)
    }

    /// Sends the request, and returns the response when its body is complete or, as a stream, when its head is.
    public func send(_ request: HTTPRequest, context: TransportContext) async throws -> HTTPResponse {
        try await context.bounded { try await respond(to: request, context) }
    }

    private func respond(to request: HTTPRequest, _ context: TransportContext) async throws -> HTTPResponse {
        try checkTrust(of: request.url.origin)
        let body = try await URLSessionBody(request.body, context)
        let length = request.body?.length
        let noteSent = length == 0 ? nil : request.body.flatMap { _ in context.uploadProgress(of: length) }
        let exchange = URLSessionExchange(context, readAhead: options.readAhead, noteSent: noteSent)
        let outgoing = try self.outgoing(request, body)
        let isKept = Self.suitsKeptConnection(request, body)
        let outcome = await context.scope.wait { () async -> Result<HTTPResponse, ServiceError> in
            // A stop before this point found no task to cancel.
            if context.scope.isStopped { return .failure(.cancelled) }
            do throws(ServiceError) {
                try exchanges.begin(exchange, outgoing, file: body.file, inKeptSession: isKept)
                return .success(try await exchange.response())
            } catch {
                return .failure(error)
            }
        } onStop: {
            exchange.stop(.cancelled)
        }
        // Foundation reads a file by itself, and may have sent one that changed during the send.
        try await body.check()
        return try outcome.get()
    }

    /// Throws if a server under development cannot be recognized.
    private func checkTrust(of origin: Origin) throws(ServiceError) {
        guard let certificate = options.developmentCertificate else { return }
        if let problem = certificate.problem { throw .badSetting(problem) }
        guard certificate.covers(origin.host) else { return }
        #if canImport(Darwin)
        _ = try certificate.keyHash()
        #else
        throw .badSetting("a development certificate for URLSession, which cannot use one on Linux; use CurlTransport")
        #endif
    }

    private func outgoing(_ request: HTTPRequest, _ body: URLSessionBody) throws(ServiceError) -> URLRequest {
        #if canImport(Darwin)
        var outgoing = try URLRequest(request, body: body)
        outgoing.assumeHTTP3(options.assumesHTTP3, at: request.url)
        return outgoing
        #else
        return try URLRequest(request, body: body)
        #endif
    }

    #if canImport(Darwin)
    /// The check for a network that the transport may use.
    public var connectivity: Connectivity { .system(allowing: options.network) }
    #endif

    /// Ends all sessions and their connections. Sends in progress fail, and so do later ones.
    public func shutdown() async {
        for exchange in exchanges.close() { exchange.stop(.transportShutDown(mayHaveReachedServer: true)) }
        await exchanges.closed()
    }

    /// Whether the request may use a kept connection. A session resends a request by itself if a kept connection turns
    /// out to be dead; without an old connection it cannot.
    private static func suitsKeptConnection(_ request: HTTPRequest, _ body: URLSessionBody) -> Bool {
        #if canImport(FoundationNetworking)
        // With a body, the resent request stalls halfway, for good.
        guard body.isEmpty else { return false }
        #endif
        return request.isRepeatable
    }

    // Streams that are still being read may continue to their end, and so may the session.
    deinit {
        exchanges.close()
    }
}
#endif
