#if os(Linux)
import CCurl

/// Which origins have requests that share a connection, as they do over HTTP/2 and HTTP/3. Only connections over TLS
/// can turn out to be such.
///
/// It decides what requests do that begin at once, without a connection that is ready:
///
/// - unknown: the first makes a connection, and the others wait for it in `CurlLookups`. Then they share it, or each
///   makes its own, all at the same time.
/// - known to share: libcurl has them wait for the connection that is being made (`CURLOPT_PIPEWAIT`).
/// - known not to: each makes its own.
///
/// A first handshake that takes too long delays the others until its timeout, as libcurl's own option would.
///
/// libcurl cannot decide this. Since 8.16, when a connection turns out to be one of HTTP/1.1, it wakes only one of the
/// requests that wait: their handshakes come one after the other, and some never come.
struct CurlSharing {
    /// At this number of origins, all are forgotten: they become known again with the next response.
    private static let most = 1024

    private var origins: [UInt64: Bool] = [:]

    /// Whether it is unknown if requests to the origin of the exchange share a connection.
    func isUnknown(to exchange: CurlExchange) -> Bool {
        exchange.isEncrypted && isUnknown(to: exchange.origin)
    }

    /// Whether it is unknown if requests to that origin, over TLS, share a connection.
    func isUnknown(to origin: UInt64) -> Bool {
        // Where libcurl does not report connections, all requests go over HTTP/1.1.
        ccurl_tells_connected() && origins[origin] == nil
    }

    /// Whether requests to the origin of the exchange are known to share connections.
    func isKnown(to exchange: CurlExchange) -> Bool {
        exchange.isEncrypted && origins[exchange.origin] == true
    }

    /// Notes what the exchange, which has ended, shows.
    mutating func note(_ exchange: CurlExchange) {
        let version = exchange.isEncrypted ? ccurl_transfer_http_version(exchange.handle.transfer) : 0
        guard version > 0 else { return }
        let shares = version >= CCURL_HTTP_VERSION_2_0
        guard origins[exchange.origin] != shares else { return }
        if origins.count >= Self.most { origins = [:] }
        origins[exchange.origin] = shares
    }
}
#endif
