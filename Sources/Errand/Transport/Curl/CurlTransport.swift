#if os(Linux)
import CCurl
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Sends requests with the system's libcurl, which is opened at run time: the default on Linux.
///
/// One thread serves all requests of a transport. Connections are kept and used again, and over TLS requests share an HTTP/2
/// connection where the server offers it. Answers are decompressed, within the limit on the bytes that come out.
/// Certificates are verified against the system's roots. It follows no redirect, reads no netrc, keeps no cookies, and
/// sends a request that could do harm twice never twice. The thread and all connections are gone after `shutdown()`, or
/// when the transport itself goes.
public final class CurlTransport: LeashedTransport {
    /// How connections are made.
    public struct Options: Sendable, Hashable {
        /// Which proxy is used.
        public enum Proxy: Sendable, Hashable {
            /// The one that `https_proxy`, `http_proxy` and `no_proxy` name, if they do.
            case environment
            /// None, whatever the environment says.
            case none
            /// This one: `http://proxy.example.com:3128`.
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
        /// SHA-256 hashes of public keys, in base64: a server whose key is none of these is refused, whoever vouches for it.
        public var pinnedPublicKeys: [String] = []
        /// What the client shows to a server that asks who it is.
        public var clientCertificate: ClientCertificate?
        /// The proxy.
        public var proxy = Proxy.environment

        /// Trusts what the system trusts.
        public init() {}
    }

    private let options: Options
    private let loop: Result<CurlLoop, ServiceError>

    /// Makes a transport. Where there is no libcurl, each send fails with `.transport(.unavailable)` and says what to
    /// install.
    public init(_ options: Options = Options()) {
        self.options = options
        guard ccurl_open() == 0 else {
            loop = .failure(.transport(TransportFailure(.unavailable, String(cString: ccurl_problem()))))
            return
        }
        loop =
            CurlLoop().map(Result.success)
            ?? .failure(.transport(TransportFailure(.unavailable, "libcurl has no memory left")))
    }

    /// The version of the libcurl that is used; `nil` if there is none.
    public static var libraryVersion: String? {
        ccurl_open() == 0 ? String(cString: ccurl_version()) : nil
    }

    /// Sends the request, and returns the answer when its body is complete.
    public func send(_ request: HTTPRequest, context: TransportContext) async throws -> HTTPResponse {
        let loop = try loop.get()
        guard let handle = loop.borrow() else {
            throw ServiceError.transport(TransportFailure(.unavailable, "libcurl has no memory left"))
        }
        defer { loop.giveBack(handle) }
        let body = try await request.body?.collect(upTo: .max, on: context.leash)
        let headers = CurlRequest(request, body: body, options: options).prepare(handle.transfer, context: context)
        defer { ccurl_list_free(headers) }
        let result = try await run(CurlExchange(handle), on: loop, context.leash)
        guard result == 0 else { throw CurlFailure(code: result, transfer: handle.transfer).error }
        return try response(of: handle.transfer)
    }

    /// Ends all connections and the thread.
    public func shutdown() async {
        // Without libcurl there is nothing to end.
        guard let loop = try? loop.get() else { return }
        loop.close()
        await loop.closed()
    }

    private func run(_ exchange: CurlExchange, on loop: CurlLoop, _ leash: Leash) async throws(ServiceError) -> CInt {
        await leash.listen {
            if !loop.start(exchange) { exchange.land(nil) }
            // A stop that came before this found nothing to end.
            if Task.isCancelled || leash.reason != nil { loop.cancel(exchange) }
            await exchange.end.landed()
        } onStop: {
            loop.cancel(exchange)
        }
        // Looked up under the lock under which it was put down: that hands the C side back to this thread.
        if case .success(let result?) = exchange.end.outcome { return result }
        if Task.isCancelled || leash.reason != nil { throw .cancelled }
        throw .transport(TransportFailure(.unavailable, "the transport has been shut down", mayHaveReachedServer: true))
    }

    private func response(of transfer: UnsafeMutablePointer<ccurl_transfer>) throws(ServiceError) -> HTTPResponse {
        guard transfer.pointee.head_complete != 0 else {
            throw .transport(TransportFailure(.truncated, "the head of the answer broke off"))
        }
        let bytes = UnsafeRawBufferPointer(start: transfer.pointee.head, count: transfer.pointee.head_length)
        guard let head = CurlHead(bytes.bindMemory(to: UInt8.self)) else {
            throw .transport(TransportFailure(.malformed, "the answer does not begin with a status line"))
        }
        var length = 0
        let body = ccurl_transfer_take_body(transfer, &length)
        let data = body.map { Data(bytesNoCopy: $0, count: length, deallocator: .free) } ?? Data()
        return HTTPResponse(status: head.status, headers: head.headers, body: .bytes(data))
    }

    deinit {
        if case .success(let loop) = loop { loop.close() }
    }
}
#endif
