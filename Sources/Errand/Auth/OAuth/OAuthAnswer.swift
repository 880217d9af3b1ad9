import ErrandJSON
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A successful response of a token endpoint (RFC 6749, 5.1).
///
/// Only the access token has to be there. Whatever else cannot be read counts as missing, and is named in `unread`: the
/// server may have replaced the refresh token, so an answer must not be lost because of a member beside it (T22).
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

    /// A server has a few members of its own, and they are short.
    private static let (mostMembers, mostBytes) = (64, 16 << 10)
    private static let known: Set<String> = [
        "access_token", "accessToken", "refresh_token", "refreshToken", "token_type", "tokenType", "id_token",
        "idToken", "scope", "expires_in", "expiresIn", "refresh_token_expires_in", "refreshTokenExpiresIn",
        "refresh_expires_in", "refreshExpiresIn", "error", "error_description", "errorDescription",
    ]

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
    /// The members that no standard names.
    var others: [String: JSONValue] = [:]
    /// The names of the members that could not be read, as the server writes them.
    var unread: [String] = []

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
        var unread: [String] = []
        func readable<Value>(_ name: MemberName, _ camelName: MemberName, _ read: () throws -> Value?) -> Value? {
            do {
                return try read()
            } catch {
                unread.append(members.name(name, camelName).stringValue)
                return nil
            }
        }
        func text(_ name: MemberName, _ camelName: MemberName) -> String? {
            readable(name, camelName) { try members.text(name, camelName) }
        }
        refresh = text("refresh_token", "refreshToken")
        type = text("token_type", "tokenType")
        idToken = text("id_token", "idToken")
        scopes = readable("scope", "scope") { try members.scopes() }
        lifetime = readable("expires_in", "expiresIn") { try members.seconds("expires_in", "expiresIn") }
            .map { min($0, Self.longest) }
        for key in members.allKeys.prefix(Self.mostMembers) where !Self.known.contains(key.stringValue) {
            // A member that cannot be read is of no use.
            if let value = try? members.decode(JSONValue.self, forKey: key) { others[key.stringValue] = value }
        }
        // They are saved with each token. What cannot be encoded cannot be saved either.
        if !others.isEmpty, (try? JSONEncoder().encode(others).count) ?? .max > Self.mostBytes {
            others = [:]
            unread.append("more than \(Self.mostBytes) bytes of its own")
        }
        self.unread = unread
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

    /// Returns the name of a member as the server writes it, or the standard, if the member is missing. A decoder may
    /// have converted the names.
    func name(_ name: Key, _ camelName: Key) -> Key { contains(name) || !contains(camelName) ? name : camelName }

    /// Returns the text of that member; `nil` if it is missing, null or empty.
    fileprivate func text(_ name: Key, _ camelName: Key) throws -> String? {
        let text = try decodeIfPresent(String.self, forKey: self.name(name, camelName))
        return text?.isEmpty == false ? text : nil
    }

    /// Returns the scopes, which some servers write as a list; `nil` if they are missing or null.
    fileprivate func scopes() throws -> [String]? {
        if let list = try? decode([String].self, forKey: "scope") { return list.isEmpty ? nil : list }
        return try text("scope", "scope")?.split(separator: " ").map(String.init)
    }

    /// Returns the seconds of that member; `nil` if it is missing, null or 0.
    fileprivate func seconds(_ name: Key, _ camelName: Key) throws -> Double? {
        guard let seconds = try number(name, camelName) else { return nil }
        guard seconds >= 0 else { throw misfit(Double.self, self.name(name, camelName), "a negative number") }
        return seconds > 0 ? seconds : nil
    }

    /// Returns the number of that member, which may be text, because well-known servers write it so; `nil` if it is
    /// missing or null.
    func number(_ name: Key, _ camelName: Key) throws -> Double? {
        let key = self.name(name, camelName)
        guard contains(key), try !decodeNil(forKey: key) else { return nil }
        // A value that is not text has to be a number, and the error says so then.
        let text = try? decode(String.self, forKey: key)
        let number = try text.map { Double($0.trimmed) } ?? decode(Double.self, forKey: key)
        guard let number, number.isFinite else { throw misfit(Double.self, key, "text that is not a number") }
        return number
    }

    fileprivate func misfit(_ type: Any.Type, _ key: Key, _ found: String) -> DecodingError {
        .typeMismatch(type, DecodingError.Context(codingPath: codingPath + [key], debugDescription: found))
    }
}
