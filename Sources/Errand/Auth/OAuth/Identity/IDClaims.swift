public import ErrandJSON
#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// What an ID token says about the user who has signed in (OpenID Connect).
///
/// A sign-in has checked who issued it, for which app, until when, and that it belongs to that sign-in. The signature
/// is not checked: the token came from the server itself, over an encrypted connection (OpenID Connect Core, 3.1.3.7).
public struct IDClaims: Sendable, Hashable {
    /// All claims by name.
    public let all: [String: JSONValue]

    init(_ all: [String: JSONValue]) {
        self.all = all
    }

    /// The server that issued the token.
    public var issuer: String? { self["iss"]?.string }
    /// The user's identifier at that server, which never changes.
    public var subject: String? { self["sub"]?.string }
    /// The apps for which the token is.
    public var audience: [String] {
        self["aud"]?.array?.compactMap(\.string) ?? [self["aud"]?.string].compactMap(\.self)
    }
    /// When the token expires.
    public var expiry: Date? { self["exp"]?.number.map(Date.init(timeIntervalSince1970:)) }
    /// The user's full name.
    public var name: String? { self["name"]?.string }
    /// The user's email address. It identifies nobody: it may change, and `email_verified` says whether it was checked.
    public var email: String? { self["email"]?.string }

    /// Returns the claim with that name.
    public subscript(name: String) -> JSONValue? { all[name] }
}

extension IDClaims: OpaqueReflectable {
    /// The names of the claims: their values are personal.
    public var description: String { "IDClaims(\(all.keys.sorted().joined(separator: ", ")))".printable }
}

extension Token {
    /// The claims of the ID token; `nil` if there is none.
    public var claims: IDClaims? { idToken.flatMap(JSONWebToken.init).map { IDClaims($0.claims) } }
}
