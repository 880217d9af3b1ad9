import Errand
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// `GET oauth/authorize`: the page on which a user signs in (RFC 6749, 4.1), and the codes that it issues.
///
/// The parameters of the app are in the query, with PKCE (`S256`) among them. The page is a form with `username` and
/// `password`, or `refuse`, which the browser sends to the same address. Then the server leads it to the app's address,
/// with a code that is valid once and for a minute. If a code comes a second time, the tokens that were issued for it
/// are revoked. An app or an address that is not registered gets an error, and no redirect.
struct AuthorizationPage: Sendable {
    /// What a user has agreed to.
    struct Agreement: Sendable {
        let user: Int
        let scopes: [String]
        fileprivate let redirectURI: String
        fileprivate let challenge: String
        fileprivate let end: Instant
        /// The access token that was issued for the code.
        fileprivate var access: String?
    }

    private static let lifetime = Duration.seconds(60)
    // It contains nothing of the request.
    private static let form = """
        <!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>Pins</title><h1>Sign in to Pins</h1>
        <form method="post"><input name="username"><input name="password" type="password">
        <button>Sign in</button></form>
        <form method="post"><button name="refuse" value="yes">Refuse</button></form></html>
        """

    private var scrambler = Scrambler(seed: 9)
    private var agreements: [String: Agreement] = [:]

    /// Shows the page, or takes what the user has entered.
    mutating func answer(_ request: ExampleRequest) throws(Refusal) -> Answer {
        let asked = request.query
        guard asked["client_id"] == ExampleData.clientID, let target = asked["redirect_uri"], Self.isRegistered(target)
        else { throw .invalid("The app or its address is not registered") }
        func redirect(_ answer: QueryItems) -> Answer {
            var answer = answer
            answer.add("state", asked["state"])
            return .redirect(to: "\(target)?\(answer.encoded)")
        }
        guard asked["response_type"] == "code" else { return redirect(["error": "unsupported_response_type"]) }
        guard asked["code_challenge_method"] == "S256", let challenge = asked["code_challenge"] else {
            return redirect(["error": "invalid_request", "error_description": "PKCE with S256 is needed"])
        }
        let scopes: [String]?
        do throws(Refusal) {
            scopes = try TokenEndpoint.scopes(asked)
        } catch {
            return redirect(["error": error.code, "error_description": error.message])
        }
        guard request.route.hasPrefix("POST ") else { return .page(Self.form) }
        guard let form = FormText.parameters(String(decoding: request.body, as: UTF8.self)) else {
            throw .invalid("A parameter comes twice")
        }
        if form["refuse"] != nil {
            return redirect(["error": "access_denied", "error_description": "The user has refused"])
        }
        guard let account = ExampleData.account(form["username"], form["password"]) else {
            // The user may try again.
            return .page(Self.form, status: 403)
        }
        let code = "code-\(scrambler.text())"
        agreements[code] = Agreement(
            user: account.id, scopes: scopes ?? TokenEndpoint.scopes, redirectURI: target, challenge: challenge,
            end: request.now.advanced(by: Self.lifetime))
        return redirect(["code": code])
    }

    /// Native apps choose the port of their receiver when they start (RFC 8252, 7.3).
    private static func isRegistered(_ address: String) -> Bool {
        address == ExampleData.redirectURI || address.hasPrefix("http://127.0.0.1:") && !address.contains("?")
    }

    /// Returns what the code stands for, which is used up then. Of a code that was used before, it revokes the tokens.
    mutating func take(
        _ form: [String: String], at now: Instant, revoking mint: inout TokenMint
    ) throws(Refusal) -> Agreement {
        guard let code = form["code"], let agreement = agreements[code] else {
            throw .invalidGrant("The code is not known")
        }
        if let access = agreement.access {
            mint.revoke(access)
            throw .invalidGrant("The code was used before")
        }
        guard now < agreement.end else { throw .invalidGrant("The code has expired") }
        guard form["redirect_uri"] == agreement.redirectURI else {
            throw .invalidGrant("The code was issued for another address")
        }
        let hash = SHA256.hash(of: Data((form["code_verifier"] ?? "").utf8))
        guard Base64URL.encode(hash) == agreement.challenge else {
            throw .invalidGrant("The verifier is not that of the sign-in")
        }
        return agreement
    }

    /// Notes which access token was issued for a code.
    mutating func spend(_ code: String?, for access: String) {
        if let code { agreements[code]?.access = access }
    }
}
