import Errand

/// Issues tokens and checks them.
///
/// A refresh token is valid once: a new refresh token of the same family comes with the new access token. If a refresh
/// token is used a second time, somebody has a copy, and the server cannot tell who: it refuses the whole family from
/// then on (RFC 9700, 4.14.2).
struct TokenMint: Sendable {
    /// The user that a token speaks for, and what it may be used for.
    struct Holder: Sendable {
        /// The sign-in that the token comes from.
        var family: Int
        /// The user; `nil` for a client that acts for itself.
        var user: Int?
        var scopes: [String]
    }

    /// The tokens that are issued together.
    struct Issued: Sendable {
        var access: String
        var refresh: String?
        var scopes: [String]
    }

    let lifetime: Duration
    private var scrambler = Scrambler(seed: 4)
    private var access: [String: (holder: Holder, expiry: Instant)] = [:]
    private var refresh: [String: (holder: Holder, isUsed: Bool)] = [:]
    /// The families that are still valid.
    private var families: Set<Int> = []
    private var lastFamily = 0

    init(lifetime: Duration) {
        self.lifetime = lifetime
    }

    /// Begins a family of tokens. Without a user there is no refresh token: the client can ask for another token
    /// instead.
    mutating func issue(for user: Int?, scopes: [String], at now: Instant) -> Issued {
        lastFamily += 1
        families.insert(lastFamily)
        return issue(to: Holder(family: lastFamily, user: user, scopes: scopes), at: now)
    }

    /// Uses up a refresh token and issues the next tokens of its family, with fewer scopes if asked for.
    mutating func rotate(_ token: String, scopes: [String]?, at now: Instant) throws(Refusal) -> Issued {
        guard let (holder, isUsed) = refresh[token], families.contains(holder.family) else {
            throw .invalidGrant("The refresh token is not known, or was revoked")
        }
        guard !isUsed else {
            families.remove(holder.family)
            throw .invalidGrant("The refresh token was used before; sign in again")
        }
        if let scopes, !Set(scopes).isSubset(of: holder.scopes) {
            throw Refusal(400, "More is asked for than was granted", code: "invalid_scope")
        }
        refresh[token]?.isUsed = true
        return issue(
            to: Holder(family: holder.family, user: holder.user, scopes: scopes ?? holder.scopes), at: now)
    }

    /// Returns the holder of an access token, if the token is valid.
    func holder(of token: String, at now: Instant) throws(Refusal) -> Holder {
        guard let (holder, expiry) = access[token], families.contains(holder.family) else {
            throw .invalidToken("The access token is not known, or was revoked")
        }
        guard now < expiry else { throw .invalidToken("The access token expired") }
        return holder
    }

    /// Refuses the tokens of that access token's family from now on.
    mutating func revoke(_ token: String) {
        if let (holder, _) = access[token] { families.remove(holder.family) }
    }

    /// Refuses all existing tokens from now on.
    mutating func revokeAll() {
        families = []
    }

    private mutating func issue(to holder: Holder, at now: Instant) -> Issued {
        let issued = Issued(
            access: "at-\(scrambler.text())", refresh: holder.user == nil ? nil : "rt-\(scrambler.text())",
            scopes: holder.scopes)
        access[issued.access] = (holder, now.advanced(by: lifetime))
        if let token = issued.refresh { refresh[token] = (holder, false) }
        return issued
    }
}

extension Refusal {
    /// The refusal for an invalid password or refresh token (RFC 6749, 5.2).
    static func invalidGrant(_ message: String) -> Refusal {
        Refusal(400, message, code: "invalid_grant")
    }

    /// The refusal for an invalid access token (RFC 6750, 3.1).
    static func invalidToken(_ message: String) -> Refusal {
        Refusal(
            401, message, code: "invalid_token",
            headers: ["WWW-Authenticate": "Bearer error=\"invalid_token\", error_description=\"\(message)\""])
    }
}
