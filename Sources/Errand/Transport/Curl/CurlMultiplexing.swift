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
/// This is about TCP, and only a response over TCP shows it: a server that speaks HTTP/3 may know nothing but HTTP/1.1
/// over TCP. For the requests that may go over either, the last response counts.
///
/// The others wait for a first handshake for a second at most, then each makes its own connection: a server that
/// accepts one and stays silent costs the first request, and not all of them.
///
/// libcurl cannot decide this. Since 8.16, when a connection turns out to be one of HTTP/1.1, it wakes only one of the
/// requests that wait: their handshakes come one after the other, and some never come.
struct CurlMultiplexing {
    private struct Origin {
        /// Whether requests share a connection over TCP; `nil` if no response has shown it.
        var overTCP: Bool?
        /// Whether the last response came on a connection that requests share.
        var last: Bool
    }

    /// At this number of origins, all are forgotten: they become known again with the next response.
    private static let most = 1024

    private var origins: [UInt64: Origin] = [:]

    /// Whether it is unknown if requests to that origin, over TLS, share a connection.
    func isUnknown(to origin: UInt64) -> Bool {
        // Where libcurl does not report connections, all requests go over HTTP/1.1.
        ccurl_tells_connected() && origins[origin]?.overTCP == nil
    }

    /// Whether requests to that origin, over TLS, that go that way are known to share connections.
    func isKnown(to origin: UInt64, going way: CurlHTTP3.Way) -> Bool {
        switch way {
        case .usual: origins[origin]?.overTCP == true
        // It makes a connection of its own.
        case .trial: false
        case .kept: true
        case .preferred: origins[origin]?.last == true
        }
    }

    /// Whether requests to that origin, over TLS, share a connection or may turn out to.
    func mayShare(to origin: UInt64) -> Bool {
        guard let known = origins[origin] else { return ccurl_tells_connected() }
        return known.overTCP ?? true || known.last
    }

    /// Notes the version of HTTP that a response of that origin came over, with libcurl's numbers; 0 if there is none.
    /// Returns whether requests turn out to share connections that were thought not to.
    @discardableResult
    mutating func note(_ version: Int, of origin: UInt64) -> Bool {
        guard version > 0 else { return false }
        let shares = version >= CCURL_HTTP_VERSION_2_0
        let isOverTCP = version < CCURL_HTTP_VERSION_3
        let known = origins[origin]
        guard known?.last != shares || (isOverTCP && known?.overTCP != shares) else { return false }
        if known == nil, origins.count >= Self.most { origins = [:] }
        origins[origin] = Origin(overTCP: isOverTCP ? shares : known?.overTCP, last: shares)
        return shares && known?.last == false
    }
}
#endif
