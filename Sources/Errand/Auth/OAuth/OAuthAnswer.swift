/// What a token endpoint answers with a success (RFC 6749, 5.1).
///
/// A member of the wrong type is an error and not a guess, with one exception: a lifetime may be written as text, which
/// well-known servers do.
struct OAuthAnswer: Decodable, Sendable {
    /// What some servers put into a success though it is none.
    struct Refusal: Sendable {
        var code: String
        var description: String?
    }

    /// A century. A server that says more means "for good", and dates further away cannot be shown.
    private static let longest = 3_155_760_000.0

    var access = ""
    var refresh: String?
    var type: String?
    /// In seconds; `nil` if the server does not say, or says 0.
    var lifetime: Double?
    /// What the token may be used for; `nil` if that is what was asked for.
    var scopes: [String]?
    var error: Refusal?

    init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: MemberName.self)
        // What is no text there is told below.
        if let code = try? members.text("error", "error"), (try? members.text("access_token", "accessToken")) == nil {
            // Without a sentence, or with one of another type, the code has to do.
            error = Refusal(code: code, description: try? members.text("error_description", "errorDescription"))
            return
        }
        access = try members.decode(String.self, forKey: members.access ?? "access_token")
        // It is to stand in a header, where a line break would begin another one.
        guard !access.isEmpty, HTTPSyntax.isFieldValue(access) else {
            throw members.misfit(String.self, "access_token", "what cannot stand in a header")
        }
        refresh = try members.text("refresh_token", "refreshToken")
        type = try members.text("token_type", "tokenType")
        scopes = try members.text("scope", "scope")?.split(separator: " ").map(String.init)
        lifetime = try members.seconds("expires_in", "expiresIn").map { min($0, Self.longest) }
    }
}

extension KeyedDecodingContainer<MemberName> {
    /// What the access token is called, by a decoder that leaves names alone and by one that does not.
    fileprivate var access: Key? {
        contains("access_token") ? "access_token" : contains("accessToken") ? "accessToken" : nil
    }

    /// The text of that member; `nil` if it is missing, null or empty.
    fileprivate func text(_ name: Key, _ camelName: Key) throws -> String? {
        let text = try decodeIfPresent(String.self, forKey: contains(name) ? name : camelName)
        return text?.isEmpty == false ? text : nil
    }

    /// The seconds of that member, be they a number or text; `nil` if it is missing, null or 0.
    fileprivate func seconds(_ name: Key, _ camelName: Key) throws -> Double? {
        let key = contains(name) ? name : camelName
        guard contains(key), try !decodeNil(forKey: key) else { return nil }
        // What is no text has to be a number, and that is what the error says then.
        let text = try? decode(String.self, forKey: key)
        let seconds = try text.map(Double.init) ?? decode(Double.self, forKey: key)
        guard let seconds, seconds.isFinite, seconds >= 0 else {
            throw misfit(Double.self, key, text == nil ? "a negative number" : "a text that is no number of seconds")
        }
        return seconds > 0 ? seconds : nil
    }

    fileprivate func misfit(_ type: Any.Type, _ key: Key, _ found: String) -> DecodingError {
        .typeMismatch(type, DecodingError.Context(codingPath: codingPath + [key], debugDescription: found))
    }
}
