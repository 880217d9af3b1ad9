import Errand

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

struct TokenResponse: Decodable, Sendable {
    var access_token: String
    var refresh_token: String?
    var expires_in: Double?

    var token: Token {
        Token(
            accessToken: access_token, refreshToken: refresh_token,
            expiry: expires_in.map { Date(timeIntervalSinceNow: $0) })
    }
}

extension Endpoint where Response == TokenResponse {
    static func signIn(_ name: String, _ password: String) -> Self {
        let form: QueryItems = ["grant_type": "password", "username": name, "password": password]
        return .post("token", body: .form(form))
    }

    static func refresh(_ old: Token) -> Self {
        let form: QueryItems = ["grant_type": "refresh_token", "refresh_token": old.refreshToken]
        return .post("token", body: .form(form))
    }
}
