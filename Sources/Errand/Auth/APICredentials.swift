#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Credentials that do not change while the program runs: a name and a password, or a key.
///
///     $0.credentials = .apiKey("X-Api-Key", key)
///
/// Each call of the client sends them, unless its endpoint has `.authentication(.none)` or a value of its own in their
/// place. They are sent over https or to this machine only, and not to another origin after a redirect. Nothing that is
/// printed, logged or thrown shows them. Tokens that expire belong into a ``TokenStore``.
public struct APICredentials: Sendable, Hashable {
    enum Place: Sendable, Hashable { case header, query }

    let place: Place
    /// The name of the header or of the parameter.
    let name: String
    let value: String
    /// A description of what is wrong with them; `nil` if nothing is.
    private(set) var problem: String?

    /// Whether they take the place of a token.
    var isAuthorization: Bool { place == .header && name.lowercased() == "authorization" }

    private init(_ place: Place, _ name: String, _ value: String, isEmpty: Bool) {
        self.place = place
        self.name = name
        self.value = value
        if isEmpty { problem = "the credentials are empty" }
    }

    /// A name and a password in the `Authorization` header (RFC 7617).
    public static func basic(user: String, password: String) -> APICredentials {
        let pair = Data("\(user):\(password)".utf8).base64EncodedString()
        var credentials = APICredentials(
            .header, "Authorization", "Basic \(pair)", isEmpty: user.isEmpty && password.isEmpty)
        if user.contains(":") { credentials.problem = "a user name with a colon, which would end it" }
        return credentials
    }

    /// A token in the `Authorization` header that does not expire, such as a personal access token.
    public static func bearer(_ token: String) -> APICredentials {
        APICredentials(.header, "Authorization", "Bearer \(token)", isEmpty: token.isEmpty)
    }

    /// A key in a header.
    public static func apiKey(_ header: String, _ key: String) -> APICredentials {
        APICredentials(.header, header, key, isEmpty: key.isEmpty || header.isEmpty)
    }

    /// A key in the query. Servers and proxies may log it; a header is better where the server has a choice.
    public static func apiKey(query name: String, _ key: String) -> APICredentials {
        APICredentials(.query, name, key, isEmpty: key.isEmpty || name.isEmpty)
    }
}

extension APICredentials: OpaqueReflectable {
    /// Where they are sent, without the secret.
    public var description: String { "APICredentials(\(place) \(name))".printable }
}
