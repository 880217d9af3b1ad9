#if os(Linux)
import CCurl
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A request in terms of libcurl's options.
struct CurlRequest {
    /// Below the limit of 300 kilobytes in newer versions of libcurl, so that the limit is the same with all versions.
    private static let largestHead = 256 << 10
    private static let acceptEncoding = "Accept-Encoding: \(CodedBody.known)"
    /// How many bytes of header lines are added to those of the request, at most.
    private static let mostAdded = acceptEncoding.utf8.count + 64
    /// Four times libcurl's own, which is as many fewer ways to the system for each megabyte of a stream that is sent.
    private static let uploadSize = 256 << 10

    private let request: HTTPRequest
    private let origin: UInt64
    private let options: CurlTransport.Options
    /// The hash of the key by which alone the server is trusted, because it is under development.
    private let developmentKey: String?

    /// Creates the description of a request to the origin with that number.
    init(
        _ request: HTTPRequest, to origin: UInt64, options: CurlTransport.Options,
        trusting developmentKey: String? = nil
    ) {
        self.request = request
        self.origin = origin
        self.options = options
        self.developmentKey = developmentKey
    }

    /// Sets the options. Those that all requests share stay set on a transfer that is used again.
    func prepare(_ transfer: OpaquePointer, context: TransportContext) throws(ServiceError) {
        let isPlain = request.method == .get && request.body == nil && context.delivery == .whole
        let isEncrypted = request.url.origin.scheme == "https"
        var facts = ccurl_request(
            origin: origin, head_limit: Self.largestHead, body_limit: context.bodyLimit,
            is_encrypted: isEncrypted, is_local: options.unixSocket != nil,
            is_safe: request.method == .get || request.method == .head,
            expects_continue: request.headers["Expect"] != nil, is_plain: isPlain, has_own_proxy: ownProxy != nil,
            may_use_http3: isEncrypted && mayUseHTTP3, permit_end: 0)
        if ccurl_transfer_begin(transfer, &facts) {
            prepareProtocol(transfer)
            try prepareConnection(transfer)
            ccurl_transfer_keep_shared_options(transfer)
        }
        setURL(on: transfer)
        set(CCURLOPT_REQUEST_TARGET, to: target, on: transfer)
        if options.certificateAuthorities == nil { ccurl_trust_system(transfer) }
        if options.developmentCertificate != nil { try prepareTrust(transfer) }
        try prepareProxy(transfer)
        if !isPlain {
            prepareMethod(transfer)
            try prepareBody(transfer)
        }
        try prepareHeaders(transfer)
    }

    /// Sets the end of the permit, after which nothing is sent, on a transfer that is prepared.
    static func setPermitEnd(of transfer: OpaquePointer, _ context: TransportContext) {
        if let wait = context.permitEnd { ccurl_set_permit_end(transfer, end(after: wait)) }
    }

    /// Returns an instant of the client's clock as one of the C side's. A process that is stopped in between gets an
    /// earlier one.
    private static func end(after wait: () -> Duration) -> Int64 {
        let now = ccurl_now_suspended()
        return max(1, now.addingReportingOverflow(wait().wholeNanoseconds).partialValue)
    }

    private func prepareProtocol(_ transfer: OpaquePointer) {
        ccurl_set_long(transfer, CCURLOPT_NOSIGNAL, 1)
        ccurl_set_long(transfer, CCURLOPT_PROTOCOLS, CCURLPROTO_HTTP | CCURLPROTO_HTTPS)
        ccurl_set_long(transfer, CCURLOPT_PATH_AS_IS, 1)
        ccurl_set_long(transfer, CCURLOPT_HTTP09_ALLOWED, 0)
        if ccurl_tells_connected(), options.unixSocket == nil {
            let newest = options.allowsHTTP2 ? CCURL_HTTP_VERSION_2TLS : CCURL_HTTP_VERSION_1_1
            ccurl_set_long(transfer, CCURLOPT_HTTP_VERSION, newest)
        } else {
            // Before 7.80 libcurl sends a request a second time, unasked, where a connection has died; it takes what
            // comes on a connection between two requests for the next response; and over HTTP/2 it takes a body that
            // breaks off for a whole one. None of that can happen where each request has a connection of its own. To a
            // Unix socket, which has no ports by which it could be told apart, that costs little.
            ccurl_set_long(transfer, CCURLOPT_HTTP_VERSION, CCURL_HTTP_VERSION_1_1)
            ccurl_set_long(transfer, CCURLOPT_FORBID_REUSE, 1)
        }
        // See `CodedBody`.
        ccurl_set_long(transfer, CCURLOPT_HTTP_CONTENT_DECODING, 0)
        // A proxy's own response to CONNECT is not the response to the request.
        ccurl_set_long(transfer, CCURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        // A transfer that is removed does not wait for the end of its lookup.
        ccurl_set_long(transfer, CCURLOPT_QUICK_EXIT, 1)
    }

    private func prepareConnection(_ transfer: OpaquePointer) throws(ServiceError) {
        if let limit = options.connectTimeout {
            guard limit > .zero else {
                throw .badSetting("a connect timeout of \(limit.displayText); use `nil` for none")
            }
            // For libcurl, 0 is its own limit.
            ccurl_set_long(transfer, CCURLOPT_CONNECTTIMEOUT_MS, Int(max(1, limit.wholeNanoseconds / 1_000_000)))
        }
        if let file = options.certificateAuthorities {
            try require(set(CCURLOPT_CAINFO, to: file, on: transfer), "a file of trusted certificates")
            // Otherwise the system's folder of certificates would be trusted too.
            set(CCURLOPT_CAPATH, to: nil, on: transfer)
        }
        if !options.pinnedPublicKeys.isEmpty {
            // A malformed pin matches no key, and libcurl would blame the server.
            if let wrong = options.pinnedPublicKeys.first(where: { !CertificateKey.isHash($0) }) {
                throw .badSetting("the pin \(HTTPSyntax.quoted(wrong)) is not a SHA-256 hash of 32 bytes in base64")
            }
            try pin(options.pinnedPublicKeys, on: transfer)
        }
        if let identity = options.clientCertificate {
            let results = [
                set(CCURLOPT_SSLCERT, to: identity.certificate, on: transfer),
                set(CCURLOPT_SSLKEY, to: identity.key, on: transfer),
            ]
            for result in results { try require(result, "client certificates") }
        }
        if let path = options.unixSocket {
            guard (1...107).contains(path.utf8.count), !path.utf8.contains(0) else {
                let reason = "\(HTTPSyntax.quoted(path)) cannot be the path of a Unix socket: it has 1 to 107 bytes"
                throw .badSetting(reason)
            }
            try require(set(CCURLOPT_UNIX_SOCKET_PATH, to: path, on: transfer), "Unix sockets")
        }
        // `no_proxy` is about the environment's proxy, not about this one.
        if case .url = options.proxy.kind { set(CCURLOPT_NOPROXY, to: "", on: transfer) }
    }

    /// Trusts a server under development by its key only, and others as ever: the transfer may be used again for one.
    private func prepareTrust(_ transfer: OpaquePointer) throws(ServiceError) {
        try pin(developmentKey.map { [$0] } ?? options.pinnedPublicKeys, on: transfer)
        // Only when the pin is set. The name is verified all the same: with neither, libcurl before 8.22 accepts a
        // server without a certificate, which has no key to compare.
        ccurl_set_long(transfer, CCURLOPT_SSL_VERIFYPEER, developmentKey == nil ? 1 : 0)
    }

    private func pin(_ keys: [String], on transfer: OpaquePointer) throws(ServiceError) {
        let pins = keys.isEmpty ? nil : keys.map { "sha256//\($0)" }.joined(separator: ";")
        try require(set(CCURLOPT_PINNEDPUBLICKEY, to: pins, on: transfer), "pinned public keys")
    }

    /// The path and the query, if libcurl would write the path in another way: 8.23 writes the letters of escapes in
    /// upper case. Without TLS, a proxy gets the whole URL, which libcurl leaves as it is; of a proxy in the
    /// environment only libcurl knows.
    private var target: String? {
        let origin = request.url.origin
        let mayHaveProxy = mayHaveEnvironmentProxy || ownProxy != nil
        guard request.url.path.hasLowercaseEscape, origin.scheme == "https" || !mayHaveProxy else { return nil }
        return request.url.target
    }

    /// Whether the request goes through the proxy that the environment names, if it names one.
    private var mayHaveEnvironmentProxy: Bool {
        options.proxy == .environment && options.unixSocket == nil && !request.url.origin.isLoopback
    }

    /// Whether the request may go over HTTP/3. libcurl would refuse it, or a proxy for other hosts may be there because
    /// the network lets nothing else out.
    private var mayUseHTTP3: Bool {
        guard options.http3 != .never, options.allowsHTTP2, options.unixSocket == nil else { return false }
        return switch options.proxy.kind {
        case .none: true
        case .url: false
        case .environment: request.url.origin.isLoopback || !ccurl_environment_has_proxy()
        }
    }

    /// The proxy that the options name, if the request goes through it.
    private var ownProxy: String? {
        guard case .url(let url) = options.proxy.kind, !url.isEmpty, options.unixSocket == nil else { return nil }
        return request.url.origin.isLoopback && !options.proxiesLoopback ? nil : url
    }

    /// Requests to this machine may be unencrypted because they stay on it, so they have to: the proxy depends on the
    /// request.
    private func prepareProxy(_ transfer: OpaquePointer) throws(ServiceError) {
        guard let ownProxy else {
            // Only where no proxy is set does libcurl look into the environment; an empty one means none.
            set(CCURLOPT_PROXY, to: mayHaveEnvironmentProxy ? nil : "", on: transfer)
            return
        }
        guard let proxy = options.proxy.origin else {
            let advice = "write it like `http://proxy.example.com:3128`, or use `.none`"
            throw .badSetting("the proxy's URL is not valid; \(advice)")
        }
        let origin = request.url.origin
        if origin.isLoopback, origin.scheme == "http", !proxy.isLoopback {
            let reason = "plain http to this machine does not go through a proxy on another one"
            throw .invalidRequest(InvalidRequest(.cleartext, reason))
        }
        try require(set(CCURLOPT_PROXY, to: ownProxy, on: transfer), "proxies")
    }

    /// Sets a text. To pass it to C directly would copy it.
    @discardableResult
    private func set(_ option: ccurl_option, to text: String?, on transfer: OpaquePointer) -> ccurl_code {
        guard let text else { return ccurl_set_text(transfer, option, nil) }
        return text.withCString { ccurl_set_text(transfer, option, $0) }
    }

    /// Fails the call if this build of libcurl lacks a feature that was asked for.
    private func require(_ result: ccurl_code, _ feature: String) throws(ServiceError) {
        guard result != CCURLE_OK else { return }
        let version = String(cString: ccurl_version())
        throw .transport(TransportFailure(.unsupported, "the libcurl that is installed (\(version)) lacks \(feature)"))
    }

    private func prepareMethod(_ transfer: OpaquePointer) {
        switch request.method {
        case .head: ccurl_set_long(transfer, CCURLOPT_NOBODY, 1)
        case .get where request.body == nil: ccurl_set_long(transfer, CCURLOPT_HTTPGET, 1)
        default:
            if hasBody { ccurl_set_long(transfer, CCURLOPT_POST, 1) }
            set(CCURLOPT_CUSTOMREQUEST, to: request.method.rawValue, on: transfer)
        }
    }

    /// Methods with a body even if it is empty: servers expect a Content-Length (RFC 9110, 8.6).
    private static let methodsWithBody: Set<HTTPMethod> = [.post, .put, .patch]

    private var hasBody: Bool {
        request.method != .head && (request.body != nil || Self.methodsWithBody.contains(request.method))
    }

    private func prepareBody(_ transfer: OpaquePointer) throws(ServiceError) {
        guard hasBody else { return }
        let body = request.body ?? .empty
        ccurl_set_offset(transfer, CCURLOPT_POSTFIELDSIZE_LARGE, body.length.map { Int64($0) } ?? -1)
        guard let bytes = body.bytes else {
            ccurl_set_long(transfer, CCURLOPT_UPLOAD_BUFFERSIZE, Self.uploadSize)
            return ccurl_stream_upload(transfer)
        }
        guard !bytes.isEmpty else { return ccurl_set_empty_upload(transfer) }
        try requireMemory(bytes.withUnsafeBytes { ccurl_set_upload(transfer, $0.baseAddress, $0.count) })
    }

    private func prepareHeaders(_ transfer: OpaquePointer) throws(ServiceError) {
        let length = request.headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 3 }
        let wasThere = Lines.with(capacity: length + Self.mostAdded) { lines in
            for field in request.headers {
                lines.append(field.name)
                // libcurl leaves a field without a value out; with a semicolon it sends an empty value.
                lines.append(field.value.isEmpty ? ";" : ": ")
                lines.append(field.value)
                lines.end()
            }
            if request.headers["Accept-Encoding"] == nil { lines.add(Self.acceptEncoding) }
            if hasBody {
                // libcurl adds nothing by itself: no wait for 100 Continue, no content type of a form.
                if request.headers["Expect"] == nil { lines.add("Expect:") }
                if request.headers["Content-Type"] == nil { lines.add("Content-Type:") }
                // libcurl has to be told how to send a POST of unknown length. Over HTTP/2 it leaves this field out.
                if let body = request.body, body.length == nil { lines.add("Transfer-Encoding: chunked") }
            }
            return ccurl_set_headers(transfer, lines.start, lines.count)
        }
        try requireMemory(wasThere)
    }

    private func setURL(on transfer: OpaquePointer) {
        let (origin, path, query) = (request.url.origin.description, request.url.path, request.url.query)
        let length = origin.utf8.count + path.utf8.count + (query?.utf8.count ?? 0) + 2
        Lines.with(capacity: length) { line in
            line.append(origin)
            line.append(path)
            if let query {
                line.append("?")
                line.append(query)
            }
            line.end()
            ccurl_set_text(transfer, CCURLOPT_URL, line.start)
        }
    }

    private func requireMemory(_ wasThere: Bool) throws(ServiceError) {
        guard wasThere else { throw .curlHasNoMemory }
    }
}

/// Lines of text for libcurl, each with a zero at its end, in memory that is given back at once: on the stack, unless
/// there are many.
private struct Lines {
    private let bytes: UnsafeMutableBufferPointer<UInt8>
    private(set) var count = 0

    /// Calls the closure with room for as many bytes.
    static func with<Result>(capacity: Int, _ body: (inout Lines) -> Result) -> Result {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: capacity) { bytes in
            var lines = Lines(bytes: bytes)
            return body(&lines)
        }
    }

    private init(bytes: UnsafeMutableBufferPointer<UInt8>) {
        self.bytes = bytes
    }

    var start: UnsafePointer<CChar>? {
        UnsafeRawPointer(bytes.baseAddress)?.assumingMemoryBound(to: CChar.self)
    }

    mutating func append(_ text: String) {
        let (_, end) = bytes[count...].initialize(from: text.utf8)
        count = end
    }

    /// Ends the line.
    mutating func end() {
        bytes.initializeElement(at: count, to: 0)
        count += 1
    }

    /// Adds a whole line.
    mutating func add(_ line: String) {
        append(line)
        end()
    }
}

extension String {
    /// Whether a percent-encoded byte is written with a lowercase letter.
    fileprivate var hasLowercaseEscape: Bool {
        // How many more bytes belong to an escape.
        var left = 0
        for byte in utf8 {
            if left > 0, byte >= UInt8(ascii: "a") { return true }
            left = byte == UInt8(ascii: "%") ? 2 : max(0, left - 1)
        }
        return false
    }
}
#endif
