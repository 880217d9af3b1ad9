#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What of a request decides about cookies: which it carries, and which its response may set.
struct CookieSource: Sendable {
    let host: CookieHost
    let path: String
    /// Whether the request goes over https.
    let isEncrypted: Bool

    init(_ url: HTTPURL) {
        host = CookieHost(url.origin.host)
        path = url.path
        isEncrypted = url.origin.scheme == "https"
    }
}

/// Why a jar does not take a cookie.
enum CookieRefusal: Error, Equatable {
    /// The line sets no cookie.
    case malformed
    /// The domain is not the host, and it is an address, a single label, or not above the host.
    case domain(String)
    /// The domain is above the host, and above the sites of the jar.
    case aboveSites(name: String, domain: String)
    /// A `Secure` cookie, or one whose name promises it, came over http, or would be replaced over http.
    case insecure
    /// The name promises what the attributes do not keep.
    case prefix
}

extension Cookie {
    /// The longest lifetime: 400 days.
    static let longestLifetime = 400.0 * 86_400

    /// Creates the cookie that a response sets (RFC 6265bis, 5.7), or refuses it (J2, J3). The cookie may have expired:
    /// then it deletes the one before it.
    init(_ line: SetCookie?, from source: CookieSource, sites: CookieSites, at now: Date) throws(CookieRefusal) {
        guard let line else { throw .malformed }
        let (domain, isHostOnly) = try Self.domain(of: line, from: source, sites: sites)
        guard source.isEncrypted || !line.isSecure else { throw .insecure }
        self.init(
            line.name, line.value, domain: domain, isHostOnly: isHostOnly,
            path: line.path ?? CookiePath.folder(of: source.path), expires: line.expiry(at: now),
            isSecure: line.isSecure, isHTTPOnly: line.isHTTPOnly, sameSite: line.sameSite,
            isPartitioned: line.isPartitioned)
        guard line.keepsItsPrefix else { throw .prefix }
    }

    private static func domain(
        of line: SetCookie, from source: CookieSource, sites: CookieSites
    ) throws(CookieRefusal) -> (domain: String, isHostOnly: Bool) {
        guard let asked = line.domain else { return (source.host.name, true) }
        let domain = CookieHost.canonical(asked)
        if domain == source.host.name, !CookieHost.isDomain(domain) { return (domain, true) }
        guard CookieHost.isDomain(domain), source.host.isWithin(domain) else { throw .domain(domain) }
        // A domain outside of the sites may be a public suffix, so other hosts below it may be other people's.
        if sites.contain(CookieHost(domain)) { return (domain, false) }
        guard domain == source.host.name else { throw .aboveSites(name: line.name, domain: domain) }
        return (domain, true)
    }
}

extension SetCookie {
    /// When the cookie expires; `nil` if it lasts as long as the program runs. `Max-Age` goes before `Expires`.
    fileprivate func expiry(at now: Date) -> Date? {
        let latest = now.addingTimeInterval(Cookie.longestLifetime)
        if let maxAge { return maxAge > 0 ? min(now.addingTimeInterval(Double(maxAge)), latest) : .distantPast }
        return expires.map { min($0, latest) }
    }

    /// Whether the attributes keep what the name promises: `__Secure-` is `Secure`, and `__Host-` belongs to one host
    /// as a whole. A value without a name could pass for a name in a request.
    fileprivate var keepsItsPrefix: Bool {
        let start = (name.isEmpty ? String(Self.readable(value)) : name).lowercased()
        let (promisesSecure, promisesHost) = (start.hasPrefix("__secure-"), start.hasPrefix("__host-"))
        guard promisesSecure || promisesHost else { return true }
        return !name.isEmpty && isSecure && (!promisesHost || domain == nil && path == "/")
    }
}
