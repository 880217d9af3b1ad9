public import ErrandJSON
#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// An access token, with what is known about it. Its description shows no secrets.
public struct Token: Sendable, Hashable, Codable {
    /// The access token itself.
    public var accessToken: String
    /// The refresh token, which can be exchanged for a new access token; `nil` if there is none.
    public var refreshToken: String?
    /// The scheme of the `Authorization` header: `Bearer`, `JWT`, …
    public var type: String
    /// When the access token expires; `nil` if that is not known. If the server names no lifetime and the token is a
    /// JWT, this is its `exp`, unverified.
    public var expiry: Date?
    /// When the refresh token expires, as the server has said; `nil` if it has not. You can ask the user in time to
    /// sign in again. The store does not judge by it: only the server knows.
    public var refreshTokenExpiry: Date?
    /// The scopes of the token.
    public var scopes: [String]
    /// The ID token of a sign-in with OpenID Connect, which has been checked; `nil` if there is none. See ``claims``.
    public var idToken: String?
    /// What else the server has written into its response, such as `instance_url` or `team`, by the names of the
    /// members; empty if there is nothing. It is saved with the session, and a response to a refresh replaces what it
    /// names.
    public var members: [String: JSONValue] = [:]
    /// The key that the access token is bound to: each request proves with it that its sender has the key (RFC 9449);
    /// `nil` if the token alone is enough. It is saved with the session. See ``OAuth/bindingTokens(to:)``.
    public var proofKey: SigningKey?

    /// Creates a token.
    public init(
        accessToken: String, refreshToken: String? = nil, type: String = "Bearer", expiry: Date? = nil,
        refreshTokenExpiry: Date? = nil, scopes: [String] = [], idToken: String? = nil, proofKey: SigningKey? = nil
    ) {
        self.accessToken = accessToken
        self.refreshToken = refreshToken
        self.type = type
        self.expiry = expiry
        self.refreshTokenExpiry = refreshTokenExpiry
        self.scopes = scopes
        self.idToken = idToken
        self.proofKey = proofKey
    }

    /// The token is bound to a key, and this process cannot use keys: the token is whole, but of no use here.
    struct UnusableKey: Error {
        let reason: String
    }

    /// Reads a token of a saved session.
    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        accessToken = try members.decode(String.self, forKey: .accessToken)
        refreshToken = try members.decodeIfPresent(String.self, forKey: .refreshToken)
        type = try members.decode(String.self, forKey: .type)
        expiry = try members.decodeIfPresent(Date.self, forKey: .expiry)
        refreshTokenExpiry = try members.decodeIfPresent(Date.self, forKey: .refreshTokenExpiry)
        scopes = try members.decode([String].self, forKey: .scopes)
        idToken = try members.decodeIfPresent(String.self, forKey: .idToken)
        self.members = try members.decodeIfPresent([String: JSONValue].self, forKey: .members) ?? [:]
        let secret = try members.decodeIfPresent(Data.self, forKey: .proofKey)
        if secret != nil, let reason = P256Keys.problem { throw UnusableKey(reason: reason) }
        proofKey = try secret.map(SigningKey.init(rawRepresentation:))
    }

    /// Writes the token with its secrets, for a saved session.
    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(accessToken, forKey: .accessToken)
        try members.encodeIfPresent(refreshToken, forKey: .refreshToken)
        try members.encode(type, forKey: .type)
        try members.encodeIfPresent(expiry, forKey: .expiry)
        try members.encodeIfPresent(refreshTokenExpiry, forKey: .refreshTokenExpiry)
        try members.encode(scopes, forKey: .scopes)
        try members.encodeIfPresent(idToken, forKey: .idToken)
        if !self.members.isEmpty { try members.encode(self.members, forKey: .members) }
        try members.encodeIfPresent(proofKey?.rawRepresentation, forKey: .proofKey)
    }

    /// The names in a saved session.
    private enum CodingKeys: String, CodingKey {
        case accessToken = "access"
        case refreshToken = "refresh"
        case refreshTokenExpiry = "refreshExpiry"
        case type, expiry, scopes, members
        case idToken = "identity"
        case proofKey = "proof"
    }

    /// Takes over the refresh token of an older token, if this one has none.
    mutating func keepRefreshToken(of old: Token) {
        guard refreshToken == nil else { return }
        refreshToken = old.refreshToken
        refreshTokenExpiry = refreshTokenExpiry ?? old.refreshTokenExpiry
    }

    /// The type of a token whose own has no name that could stand in a header.
    static let unknownType = "Unknown"

    /// Whether no request can be signed with it. Each send asks this.
    var isMisfit: Bool {
        guard proofKey == nil else { return false }
        return type.utf8.count == TokenProver.header.utf8.count && type.equalsIgnoringCase(TokenProver.header)
            || type == Self.unknownType
    }

    /// The error of a call that would have to be signed with it.
    var misfit: ServiceError {
        type == Self.unknownType
            ? .badSetting("the server has issued a token of an unknown type, which cannot be sent")
            : .badSetting(
                "the server has issued a token of the type DPoP without a key; use `OAuth.bindingTokens(to:)`")
    }

    /// The value of the `Authorization` header.
    var authorization: String { "\(type) \(accessToken)" }
}

extension Token: CustomDebugStringConvertible, OpaqueReflectable {
    /// The token without its secrets.
    public var description: String {
        // Foundation traps when it formats a date that is not a number.
        let expiry = expiry.flatMap { $0.timeIntervalSince1970.isNaN ? nil : "\($0)" } ?? "unknown"
        let refresh = refreshToken == nil ? "none" : Redactor.mask
        return "Token(\(type) \(Redactor.mask), refresh: \(refresh), expiry: \(expiry), scopes: \(scopes))"
    }
    /// The token without its secrets.
    public var debugDescription: String { description }
}
