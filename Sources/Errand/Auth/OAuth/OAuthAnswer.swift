/// A successful response of a token endpoint (RFC 6749, 5.1).
///
/// A member of the wrong type is an error, with one exception: a lifetime may be text, because well-known servers write
/// it so.
struct OAuthAnswer: Decodable, Sendable {
    /// An error that some servers send with a success status.
    struct Refusal: Sendable {
        var code: String
        var description: String?
        /// The seconds between the polls of a sign-in on another device.
        var interval: Double?
    }

    /// A century. A longer lifetime means "forever", and later dates cannot be shown.
    static let longest = 3_155_760_000.0

    var access = ""
    var refresh: String?
    var type: String?
    /// The lifetime in seconds; `nil` if the server does not name it, or names 0.
    var lifetime: Double?
    /// The lifetime of the refresh token in seconds; `nil` if the server does not name it, or names 0.
    var refreshLifetime: Double?
    /// The scopes of the token; `nil` if they are those that were requested.
    var scopes: [String]?
    /// The ID token, unchecked.
    var idToken: String?
    var error: Refusal?

    init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: MemberName.self)
        // A member that is not text is reported below.
        if let code = try? members.text("error", "error"), (try? members.text("access_token", "accessToken")) == nil {
            // Without a description, or with one of another type, the code has to do.
            error = Refusal(
                code: code, description: try? members.text("error_description", "errorDescription"),
                interval: try? members.seconds("interval", "interval"))
            return
        }
        access = try members.decode(String.self, forKey: members.access ?? "access_token")
        // The token becomes part of a header, where a line break would begin another one.
        guard !access.isEmpty, HTTPSyntax.isFieldValue(access) else {
            throw members.misfit(String.self, "access_token", "characters that a header cannot contain")
        }
        refresh = try members.text("refresh_token", "refreshToken")
        type = try members.text("token_type", "tokenType")
        idToken = try members.text("id_token", "idToken")
        scopes = try members.text("scope", "scope")?.split(separator: " ").map(String.init)
        lifetime = try members.seconds("expires_in", "expiresIn").map { min($0, Self.longest) }
        // No standard names it, so nothing depends on it.
        let refreshSeconds =
            (try? members.seconds("refresh_token_expires_in", "refreshTokenExpiresIn"))
            ?? (try? members.seconds("refresh_expires_in", "refreshExpiresIn"))
        refreshLifetime = refreshSeconds.map { min($0, Self.longest) }
    }
}

extension KeyedDecodingContainer<MemberName> {
    /// The name of the access token, with a decoder that keeps names or with one that converts them.
    fileprivate var access: Key? {
        contains("access_token") ? "access_token" : contains("accessToken") ? "accessToken" : nil
    }

    /// Returns the text of that member; `nil` if it is missing, null or empty.
    fileprivate func text(_ name: Key, _ camelName: Key) throws -> String? {
        let text = try decodeIfPresent(String.self, forKey: contains(name) ? name : camelName)
        return text?.isEmpty == false ? text : nil
    }

    /// Returns the seconds of that member; `nil` if it is missing, null or 0.
    fileprivate func seconds(_ name: Key, _ camelName: Key) throws -> Double? {
        guard let seconds = try number(name, camelName) else { return nil }
        guard seconds >= 0 else {
            throw misfit(Double.self, contains(name) ? name : camelName, "a negative number")
        }
        return seconds > 0 ? seconds : nil
    }

    /// Returns the number of that member, which may be text, because well-known servers write it so; `nil` if it is
    /// missing or null.
    func number(_ name: Key, _ camelName: Key) throws -> Double? {
        let key = contains(name) ? name : camelName
        guard contains(key), try !decodeNil(forKey: key) else { return nil }
        // A value that is not text has to be a number, and the error says so then.
        let text = try? decode(String.self, forKey: key)
        let number = try text.map(Double.init) ?? decode(Double.self, forKey: key)
        guard let number, number.isFinite else { throw misfit(Double.self, key, "text that is not a number") }
        return number
    }

    fileprivate func misfit(_ type: Any.Type, _ key: Key, _ found: String) -> DecodingError {
        .typeMismatch(type, DecodingError.Context(codingPath: codingPath + [key], debugDescription: found))
    }
}
