#if os(Linux)
extension CurlTransport.Options.Proxy: OpaqueReflectable {
    /// The proxy, without the user and the password that its URL may contain.
    public var description: String {
        switch kind {
        case .environment: "environment"
        case .none: "none"
        case .url(let url): Self.withoutCredentials(url)
        }
    }

    /// The schemes that libcurl knows for proxies.
    private static let schemes: Set<String> = ["http", "https", "socks", "socks4", "socks4a", "socks5", "socks5h"]

    /// The host and the port of the proxy that the options name, as those of http; `nil` if its URL is none.
    var origin: Origin? {
        guard case .url(let url) = kind else { return nil }
        // libcurl takes a URL without a scheme for http.
        let full = url.contains("://") ? url : "http://\(url)"
        guard let separator = full.firstRange(of: "://"),
            Self.schemes.contains(full[..<separator.lowerBound].lowercased()),
            full.utf8.all({ $0 > 0x20 && $0 != 0x7F })
        else { return nil }
        let authority = full[separator.upperBound...].prefix(before: "/?#")
        let host = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
        // The error says what is wrong with the text, which may be a part of a password.
        return (try? HTTPURL("http://\(Self.withoutZone(host))"))?.origin
    }

    /// The host and the port without the zone of an address, which only the system knows.
    private static func withoutZone(_ host: Substring) -> Substring {
        guard host.hasPrefix("["), let end = host.firstIndex(of: "]"), let zone = host[..<end].firstIndex(of: "%")
        else { return host }
        return host[..<zone] + host[end...]
    }

    /// A password may contain any character, even those that should end it: only the last `@` certainly ends it.
    private static func withoutCredentials(_ url: String) -> String {
        guard let at = url.lastIndex(of: "@") else { return url }
        let host = url[url.index(after: at)...]
        guard let scheme = url[..<at].firstRange(of: "://") else { return String(host) }
        return String(url[..<scheme.upperBound] + host)
    }
}
#endif
