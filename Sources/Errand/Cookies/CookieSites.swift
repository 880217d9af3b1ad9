/// The sites of a jar: the domains below which cookies are shared by hosts.
///
/// A browser needs a list of all public suffixes, such as `co.uk`, to know how far up a cookie may reach. A jar
/// need not know: a cookie reaches no further up than the sites that the program has named.
struct CookieSites: Sendable {
    let names: [String]

    init(_ names: [String]) {
        self.names = names.map { name in
            CookieHost.canonical(name.utf8.first == UInt8(ascii: ".") ? String(name.dropFirst()) : name)
        }
    }

    /// What is wrong with the names; `nil` if nothing is.
    var problem: String? {
        guard let name = names.first(where: { !Self.isSite($0) }) else { return nil }
        let reason = "it must be a domain of two labels or more, such as example.com, without a scheme or a port"
        return "the cookie jar's site \(HTTPSyntax.quoted(name)); \(reason)"
    }

    /// Returns whether the host is a site or lies below one.
    func contain(_ host: CookieHost) -> Bool {
        names.contains { host.isWithin($0) }
    }

    private static func isSite(_ name: String) -> Bool {
        CookieHost.isDomain(name)
            && name.utf8.allSatisfy { byte in
                PercentEncoding.isAlphanumeric(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
                    || byte == UInt8(ascii: "_")
            }
    }
}
