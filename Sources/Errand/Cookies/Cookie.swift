#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A cookie in a ``CookieJar``.
///
/// Its value is usually as secret as a password, so no description shows it.
public struct Cookie: Sendable, Hashable, Codable {
    /// The name; empty if the server gave only a value.
    public var name: String
    /// The value, as the server wrote it.
    public var value: String
    /// The host that has set the cookie or, unless ``isHostOnly``, the domain below which all hosts receive it.
    public var domain: String
    /// Whether only the host itself receives the cookie, and not the hosts below it.
    public var isHostOnly: Bool
    /// The path below which requests carry the cookie.
    public var path: String
    /// When the cookie expires; `nil` if it lasts as long as the program runs.
    public var expires: Date?
    /// Whether the cookie is sent over https only.
    public var isSecure: Bool
    /// Whether the server hides the cookie from scripts in a page. It does not matter to a client.
    public var isHTTPOnly: Bool
    /// `Strict`, `Lax` or `None`; `nil` if the server named none of them. It is kept, and does not matter to a client
    /// that shows no pages.
    public var sameSite: String?
    /// Whether a browser keeps the cookie apart for each page. It is kept, and does not matter to a client that shows
    /// no pages.
    public var isPartitioned: Bool

    /// Creates a cookie.
    ///
    ///     try jar.insert([Cookie("device", "7f3a", domain: "api.example.com")])
    public init(
        _ name: String, _ value: String, domain: String, isHostOnly: Bool = true, path: String = "/",
        expires: Date? = nil, isSecure: Bool = true, isHTTPOnly: Bool = false, sameSite: String? = nil,
        isPartitioned: Bool = false
    ) {
        self.name = name
        self.value = value
        self.domain = domain
        self.isHostOnly = isHostOnly
        self.path = path
        self.expires = expires
        self.isSecure = isSecure
        self.isHTTPOnly = isHTTPOnly
        self.sameSite = sameSite
        self.isPartitioned = isPartitioned
    }
}

extension Cookie {
    /// The cookie in a `Cookie` header.
    var pair: String { name.isEmpty ? value : "\(name)=\(value)" }

    /// The name that a server reads: a value without a name may have one in it.
    var sentName: Substring {
        let sent = SetCookie.readable(pair)
        return sent.utf8.firstIndex(of: UInt8(ascii: "=")).map { sent[..<$0].trimmed } ?? Substring(name)
    }

    /// What the cookie takes of the jar's space, in bytes.
    var size: Int { name.utf8.count + value.utf8.count + domain.utf8.count + path.utf8.count }

    func hasExpired(at now: Date) -> Bool {
        expires.map { $0 <= now } ?? false
    }

    /// Returns whether `other` is another value of the same cookie.
    func replaces(_ other: Cookie) -> Bool {
        name == other.name && domain == other.domain && isHostOnly == other.isHostOnly && path == other.path
    }

    /// What keeps the cookie from being sent; `nil` if nothing does. For cookies that no server has set.
    var problem: String? {
        guard let line = SetCookie("\(name)=\(value)"), line.name == name, line.value == value else {
            return "a cookie whose name or value no server could set"
        }
        guard path.utf8.first == UInt8(ascii: "/"), path.utf8.count <= 1024, HTTPSyntax.isFieldValue(path) else {
            return "a cookie whose path is not absolute"
        }
        let host = CookieHost(domain)
        guard !host.name.isEmpty, host.name == domain, domain.utf8.count <= 255,
            isHostOnly || CookieHost.isDomain(domain)
        else { return "a cookie whose domain is not a host in lower case" }
        return nil
    }
}

extension Cookie: OpaqueReflectable {
    /// The cookie as a server sets it, without its value.
    public var description: String {
        let parts = [
            (name.isEmpty ? "" : "\(name)=") + Redactor.mask, isHostOnly ? "host=\(domain)" : "domain=\(domain)",
            "path=\(path)", expires.map { "expires=\(HTTPDate.text($0))" }, isSecure ? "secure" : nil,
            isHTTPOnly ? "httponly" : nil,
        ]
        return parts.compactMap(\.self).joined(separator: "; ").printable
    }
}
