#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What an app signs to prove that it is the app (RFC 7523, 3): a token for one send of a request.
struct ClientAssertion: Sendable {
    private struct Claims: Encodable {
        var iss, sub, aud, jti: String
        var iat, exp: Int
    }

    /// How long a server may accept it. Its clock may be behind or ahead by a little less.
    private static let lifetime = 60

    let key: SigningKey
    let keyID: String
    /// The audience that the app has chosen; `nil` for the issuer.
    let audience: String?

    /// Returns what goes along with one send of a request.
    func proof(of id: String, for request: OAuth.Client.Request, at date: Date) throws(ServiceError)
        -> OAuth.Client.Proof
    {
        // An assertion whose audience is the issuer is of no use to another server that the app is registered with.
        guard let audience = audience ?? request.issuer ?? request.endpoint else {
            throw .badSetting(
                "an app that signs its requests has to know the authorization server; use `OAuth.discover`")
        }
        let now = Int(date.timeIntervalSince1970)
        let claims = Claims(
            iss: id, sub: id, aud: audience, jti: SystemRandom.text(), iat: now, exp: now + Self.lifetime)
        return OAuth.Client.Proof(
            parameters: [
                "client_id": id, "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
                "client_assertion": try SignedToken.text(claims, by: key, keyID: keyID),
            ])
    }
}
