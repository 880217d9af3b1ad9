#if os(Linux)
import CCurl
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Sends requests with the system's libcurl, which is opened at run time: the default on Linux.
///
/// One thread serves all requests of a transport. Connections are kept and used again, and over TLS requests share an
/// HTTP/2 connection where the server offers it. Answers are decompressed, within the limit on the bytes that come out.
/// Certificates are verified against the system's roots. It follows no redirect, reads no netrc, keeps no cookies, and
/// sends a request that could do harm twice never twice. The thread and all connections are gone after `shutdown()`, or
/// when the transport itself goes.
public final class CurlTransport: StoppableTransport {
    /// How connections are made.
    public struct Options: Sendable, Hashable {
        /// Which proxy is used.
        public enum Proxy: Sendable, Hashable {
            /// The one that `https_proxy`, `http_proxy` and `no_proxy` name, if they do; none for what is meant for
            /// this machine.
            case environment
            /// None, whatever the environment says.
            case none
            /// This one, for all hosts: `http://proxy.example.com:3128`, with `user:password@` before the host where
            /// the proxy wants to know who is calling.
            case url(String)
        }

        /// A client certificate and its private key, as PEM files.
        public struct ClientCertificate: Sendable, Hashable {
            /// The path of the certificate.
            public var certificate: String
            /// The path of the key.
            public var key: String

            /// Names the files.
            public init(certificate: String, key: String) {
                self.certificate = certificate
                self.key = key
            }
        }

        /// A PEM file with the certificates to trust in the place of the system's.
        public var certificateAuthorities: String?
        /// SHA-256 hashes of public keys, in base64 and without `sha256/` in front: a server whose key is none of these
        /// is refused, whoever vouches for it.
        public var pinnedPublicKeys: [String] = []
        /// What the client shows to a server that asks who it is.
        public var clientCertificate: ClientCertificate?
        /// The proxy.
        public var proxy = Proxy.environment
        /// Whether a proxy named by `Proxy.url(_:)` also carries requests to this machine; by default it does not.
        ///
        /// A proxy for debugging may have to. Plain http is carried only if the proxy runs on this machine itself: a
        /// token that need not be encrypted here must not leave.
        public var proxiesLoopback = false

        /// Trusts what the system trusts.
        public init() {}
    }

    private let options: Options
    private let loop: Result<CurlLoop, ServiceError>

    /// Makes a transport. Where there is no libcurl, each send fails with `.transport(.unavailable)` and says what to
    /// install.
    public init(_ options: Options = Options()) {
        self.options = options
        guard ccurl_open() else {
            loop = .failure(.transport(TransportFailure(.unavailable, String(cString: ccurl_problem()))))
            return
        }
        loop = CurlLoop().map(Result.success) ?? .failure(.curlHasNoMemory)
    }

    /// The version of the libcurl that is used; `nil` if there is none.
    public static var libraryVersion: String? {
        ccurl_open() ? String(cString: ccurl_version()) : nil
    }

    /// Sends the request, and returns the answer when its body is complete; as a stream, when its head is.
    ///
    /// A stream holds the connection until it has been read or dropped; while nobody reads, the connection is not read
    /// either. Cancelling ends the exchange at once. Where it shares an HTTP/2 connection, the server hears of that
    /// with the next exchange on it at the latest.
    public func send(_ request: HTTPRequest, context: TransportContext) async throws -> HTTPResponse {
        let loop = try loop.get()
        guard let handle = loop.borrow() else { throw ServiceError.curlHasNoMemory }
        let upload = request.body.flatMap { $0.bytes == nil ? CurlUpload($0) : nil }
        do throws(ServiceError) {
            try CurlRequest(request, options: options).prepare(handle.transfer, context: context)
        } catch {
            loop.giveBack(handle)
            throw error
        }
        switch context.delivery {
        case .whole:
            defer { loop.giveBack(handle) }
            let exchange = CurlExchange(handle, context: context, upload: upload)
            await run(exchange, on: loop, until: exchange.end)
            // Looked up under the lock under which it was put down: that hands the C side back to this thread.
            guard case .success(let result?) = exchange.end.outcome else {
                throw context.scope.isStopped ? .cancelled : CurlFailure(nil, of: handle).error
            }
            guard result == CCURLE_OK else {
                throw upload?.failure ?? CurlFailure(result, of: handle).error
            }
            return try CurlAnswer(handle).response()
        case .stream:
            let download = CurlDownload { loop.giveBack($0) }
            let exchange = CurlExchange(handle, context: context, upload: upload, download: download)
            let reader = CurlReader(download, of: exchange, on: loop, keeping: self)
            await run(exchange, on: loop, until: download.head)
            guard !context.scope.isStopped, var response = try download.head.outcome?.get() else {
                throw ServiceError.cancelled
            }
            response.body = .stream(length: response.lengthOnTheWire, HTTPBody.Chunks { try await reader.next() })
            return response
        }
    }

    /// Ends all connections and the thread.
    public func shutdown() async {
        // Without libcurl there is nothing to end.
        guard let loop = try? loop.get() else { return }
        loop.close()
        await loop.closed()
    }

    /// Has the exchange begun, and waits until `flight` has landed.
    private func run<Value>(
        _ exchange: CurlExchange, on loop: CurlLoop, until flight: Flight<Value>
    ) async {
        let context = exchange.context
        if ccurl_tells_connected() { context.note(.connecting) }
        await context.scope.wait {
            // What was stopped before this sends nothing; a stop that came beside it found nothing to end.
            if context.scope.isStopped || !loop.start(exchange) { exchange.land(nil) }
            if context.scope.isStopped { loop.cancel(exchange) }
            exchange.upload?.start { loop.resume(exchange) }
            await flight.landed()
        } onStop: {
            loop.cancel(exchange, isOutOfTime: context.scope.isOutOfTime)
        }
    }

    deinit {
        if case .success(let loop) = loop { loop.close() }
    }
}

extension HTTPResponse {
    /// How long the body is, if that was said; what a compressed one comes to is not known.
    fileprivate var lengthOnTheWire: Int? {
        headers["Content-Encoding"] == nil ? headers["Content-Length"].flatMap { Int($0) } : nil
    }
}
#endif
