#if os(Linux)
import CCurl
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A request as libcurl is told of it.
struct CurlRequest {
    private static let httpAndHTTPS = 3
    private static let http2OverTLS = 4
    private static let largestHead = 512 << 10

    private let request: HTTPRequest
    private let body: Data?
    private let options: CurlTransport.Options

    init(_ request: HTTPRequest, body: Data?, options: CurlTransport.Options) {
        self.request = request
        self.body = body
        self.options = options
    }

    /// Sets all options; returns the list of headers, which must live as long as the transfer.
    func prepare(
        _ transfer: UnsafeMutablePointer<ccurl_transfer>, context: TransportContext
    ) -> UnsafeMutableRawPointer? {
        ccurl_set_text(transfer, CurlOption.url, request.url.absoluteString)
        ccurl_set_long(transfer, CurlOption.noSignal, 1)
        ccurl_set_long(transfer, CurlOption.protocols, Self.httpAndHTTPS)
        ccurl_set_long(transfer, CurlOption.pathAsIs, 1)
        ccurl_set_long(transfer, CurlOption.allowsHTTP09, 0)
        ccurl_set_long(transfer, CurlOption.httpVersion, Self.http2OverTLS)
        ccurl_set_long(transfer, CurlOption.waitForMultiplexing, request.url.origin.scheme == "https" ? 1 : 0)
        ccurl_set_text(transfer, CurlOption.acceptEncoding, "")
        transfer.pointee.body_limit = context.bodyLimit
        transfer.pointee.head_limit = Self.largestHead
        prepareConnection(transfer)
        prepareBody(transfer)
        let headers = headerList
        ccurl_set_pointer(transfer, CurlOption.headers, headers)
        return headers
    }

    private func prepareConnection(_ transfer: UnsafeMutablePointer<ccurl_transfer>) {
        if let file = options.certificateAuthorities { ccurl_set_text(transfer, CurlOption.caFile, file) }
        if !options.pinnedPublicKeys.isEmpty {
            let pins = options.pinnedPublicKeys.map { "sha256//\($0)" }.joined(separator: ";")
            ccurl_set_text(transfer, CurlOption.pinnedKey, pins)
        }
        if let identity = options.clientCertificate {
            ccurl_set_text(transfer, CurlOption.certificate, identity.certificate)
            ccurl_set_text(transfer, CurlOption.privateKey, identity.key)
        }
        switch options.proxy {
        case .environment: break
        case .none: ccurl_set_text(transfer, CurlOption.proxy, "")
        case .url(let url): ccurl_set_text(transfer, CurlOption.proxy, url)
        }
    }

    private func prepareBody(_ transfer: UnsafeMutablePointer<ccurl_transfer>) {
        switch request.method {
        case .head:
            ccurl_set_long(transfer, CurlOption.noBody, 1)
            return
        case .get where body == nil:
            ccurl_set_long(transfer, CurlOption.httpGet, 1)
            return
        case .post: ccurl_set_long(transfer, CurlOption.post, 1)
        default:
            if body != nil { ccurl_set_long(transfer, CurlOption.post, 1) }
            ccurl_set_text(transfer, CurlOption.customRequest, request.method.rawValue)
        }
        guard request.method == .post || body != nil else { return }
        let length = body?.count ?? 0
        ccurl_set_offset(transfer, CurlOption.bodySize, Int64(length))
        // libcurl sends a request a second time, unasked, when a kept connection turns out to be dead. It cannot if the body would
        // have to be read again, or if there is no old connection to begin with.
        let mayRepeat = request.method.isIdempotent || request.headers["Idempotency-Key"] != nil
        if length == 0 {
            ccurl_set_text(transfer, CurlOption.postFields, "")
            if !mayRepeat { ccurl_set_long(transfer, CurlOption.freshConnection, 1) }
            return
        }
        _ = body?.withUnsafeBytes { ccurl_set_upload(transfer, $0.baseAddress, $0.count) }
    }

    private var headerList: UnsafeMutableRawPointer? {
        var list: UnsafeMutableRawPointer?
        for field in request.headers {
            // libcurl takes a name without a value as the wish to leave it out; with a semicolon it sends it empty.
            list = ccurl_list_append(list, field.value.isEmpty ? "\(field.name);" : "\(field.name): \(field.value)")
        }
        // Nothing that was not asked for: no wait for 100 Continue, no content type of a form.
        if request.headers["Expect"] == nil { list = ccurl_list_append(list, "Expect:") }
        if request.headers["Content-Type"] == nil { list = ccurl_list_append(list, "Content-Type:") }
        return list
    }
}
#endif
