/// The host of a request, as cookies compare hosts (RFC 6265bis, 5.1).
struct CookieHost: Sendable, Hashable {
    /// The name in lower case, without a dot at its end; an IPv6 address is in brackets.
    let name: String

    init(_ name: String) {
        self.name = Self.canonical(name)
    }

    /// Returns the name in lower case and in ASCII, without a dot at its end: `example.com.` and `example.com` are one
    /// host, and so are `bücher.example` and `xn--bcher-kva.example`.
    static func canonical(_ name: String) -> String {
        let lowercased = Punycode.host(name.lowercased())
        return lowercased.utf8.last == UInt8(ascii: ".") ? String(lowercased.dropLast()) : lowercased
    }

    /// Whether the host is an address, which has no parents: in brackets, or with a last label that is a number, as
    /// `127.1` and `0x7f000001` are.
    var isAddress: Bool { Self.isAddress(name) }

    private static func isAddress(_ name: String) -> Bool {
        if name.utf8.contains(where: { $0 == UInt8(ascii: "[") || $0 == UInt8(ascii: ":") }) { return true }
        guard let label = name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).last else {
            return false
        }
        if label.starts(with: "0x".utf8) { return label.dropFirst(2).allSatisfy(PercentEncoding.isHexDigit) }
        return !label.isEmpty && label.allSatisfy(FieldParser.isDigit)
    }

    /// Returns whether the host is the domain or lies below it.
    func isWithin(_ domain: String) -> Bool {
        if name == domain { return true }
        let (host, end) = (name.utf8, domain.utf8)
        guard host.count > end.count, !isAddress else { return false }
        let rest = host.dropLast(end.count)
        return rest.last == UInt8(ascii: ".") && host.suffix(end.count).elementsEqual(end)
    }

    /// The host and the domains above it, the host first.
    var domains: [String] {
        guard !isAddress else { return [name] }
        var domains = [name]
        var rest = name.utf8[...]
        while let dot = rest.firstIndex(of: UInt8(ascii: ".")) {
            rest = rest[rest.index(after: dot)...]
            domains.append(String(Substring(rest)))
        }
        return domains
    }

    /// Returns whether that can be the domain of several hosts: it has two labels or more, none of them empty, and is
    /// no address.
    static func isDomain(_ name: String) -> Bool {
        let labels = name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return labels.count > 1 && !labels.contains(where: \.isEmpty) && !isAddress(name)
    }
}

/// The paths of cookies (RFC 6265bis, 5.1.4).
enum CookiePath {
    /// Returns the path of a cookie that was set without one: the folder of the request's path.
    static func folder(of path: String) -> String {
        guard path.utf8.first == UInt8(ascii: "/"), let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else {
            return "/"
        }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Returns whether a cookie with that path is sent with a request of `path`: for the path itself and what lies
    /// below it, so that `/user` does not reach `/username`.
    static func reaches(_ path: String, from cookiePath: String) -> Bool {
        let (path, start) = (path.utf8, cookiePath.utf8)
        guard path.starts(with: start) else { return false }
        if path.count == start.count || start.last == UInt8(ascii: "/") { return true }
        return path.dropFirst(start.count).first == UInt8(ascii: "/")
    }
}
