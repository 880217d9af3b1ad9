#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The checks of an ID token (OpenID Connect Core, 3.1.3.7): that this server has issued it, for this app, for this
/// sign-in, and that it has not expired. Another app's token would sign in its user here.
struct IDTokenCheck: Sendable {
    /// Clocks differ.
    private static let leeway = 60.0

    let issuer: String
    let clientID: String
    /// The value that was sent with the sign-in; `nil` if the sign-in has none.
    var nonce: String?
    /// The user whose session is being refreshed; `nil` at a sign-in.
    var subject: String?
    /// How the user had to sign in.
    var demands = SignInDemands()

    /// Throws `.decodingFailed` with the claim as the path, unless the token is good. A good one of another user than
    /// `subject` ends that session: `.sessionExpired`.
    func check(_ text: String?, at date: Date) throws(ServiceError) {
        guard let text else { throw .unlike("id_token", expected: "an ID token", found: "none") }
        guard let token = JSONWebToken(text) else {
            throw .unlike("id_token", expected: "a signed JSON Web Token", found: "another text")
        }
        let claims = IDClaims(token.claims)
        func refuse(_ name: String, _ expected: String) -> ServiceError {
            .unlike("id_token.\(name)", expected: expected, found: claims[name] == nil ? "nothing" : "another value")
        }
        // First of all: nothing else that is wrong must hide that the session is another user's.
        if let subject, let user = claims.subject, user != subject {
            throw .sessionExpired(SessionExpiry(.refreshRefused, message: "the new ID token is that of another user"))
        }
        guard TenantIssuer.matches(claims.issuer, issuer, tenant: claims["tid"]?.string) else {
            throw refuse("iss", issuer)
        }
        guard let user = claims.subject, !user.isEmpty else { throw refuse("sub", "a user") }
        guard claims.audience.contains(clientID) else { throw refuse("aud", "the id of this app") }
        let authorized = claims["azp"]
        // With several audiences, it says which of them asked for the token.
        guard authorized == nil ? claims.audience.count == 1 : authorized?.string == clientID else {
            throw refuse("azp", "the id of this app")
        }
        guard let expiry = token.seconds("exp"), expiry + Self.leeway > date.timeIntervalSince1970 else {
            throw refuse("exp", "a time in the future")
        }
        if let nonce, claims["nonce"]?.string != nonce { throw refuse("nonce", "that of this sign-in") }
        if let earliest = demands.earliest {
            guard let signedIn = token.seconds("auth_time"), signedIn >= earliest - Self.leeway else {
                throw refuse("auth_time", "a sign-in that is as young as was asked for")
            }
        }
        // A server need not say by which means the user has signed in.
        if !demands.acrValues.isEmpty, let used = claims["acr"]?.string, !demands.acrValues.contains(used) {
            throw refuse("acr", demands.acrValues.joined(separator: " or "))
        }
    }
}
