import Errand
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// `POST oauth/access_token`: the token endpoint of RFC 6749 for the grants `authorization_code`, `password`,
/// `refresh_token` and `client_credentials`.
///
/// The parameters are a form. The client sends its id and its secret in a Basic header or in the form, not in both.
/// Errors are those of section 5.2: `{"error": "invalid_grant", "error_description": …}`.
struct TokenEndpoint: Sendable {
    static let scopes = ["read", "write"]

    var mint: TokenMint
    /// The page that issues codes.
    var page = AuthorizationPage()

    mutating func answer(_ request: ExampleRequest) throws(Refusal) -> Answer {
        let form = try form(of: request)
        try checkClient(request, form)
        let scopes = try Self.scopes(form)
        let issued: TokenMint.Issued
        switch form["grant_type"] {
        case "authorization_code":
            let agreement = try page.take(form, at: request.now, revoking: &mint)
            issued = mint.issue(for: agreement.user, scopes: agreement.scopes, at: request.now)
            page.spend(form["code"], for: issued.access)
        case "password":
            let user = try user(form)
            issued = mint.issue(for: user, scopes: scopes ?? Self.scopes, at: request.now)
        case "refresh_token":
            guard let token = form["refresh_token"], !token.isEmpty else { throw .invalid("refresh_token is missing") }
            issued = try mint.rotate(token, scopes: scopes, at: request.now)
        case "client_credentials": issued = mint.issue(for: nil, scopes: scopes ?? Self.scopes, at: request.now)
        case .some(let type):
            throw Refusal(400, "There is no grant of type \(type)", code: "unsupported_grant_type")
        case nil: throw .invalid("grant_type is missing")
        }
        return answer(issued)
    }

    private func form(of request: ExampleRequest) throws(Refusal) -> [String: String] {
        guard request.headers["Content-Type"]?.hasPrefix("application/x-www-form-urlencoded") == true else {
            throw .invalid("The parameters must be a form")
        }
        guard let form = FormText.parameters(String(decoding: request.body, as: UTF8.self)) else {
            throw .invalid("A parameter comes twice")
        }
        return form
    }

    private func checkClient(_ request: ExampleRequest, _ form: [String: String]) throws(Refusal) {
        var (id, secret) = (form["client_id"], form["client_secret"])
        var headers: HTTPHeaders = [:]
        if let basic = request.credentials("Basic") {
            guard secret == nil else { throw .invalid("The client shows its secret twice") }
            headers["WWW-Authenticate"] = "Basic realm=\"pins\""
            let pair = Data(base64Encoded: basic).map { String(decoding: $0, as: UTF8.self) } ?? ""
            let parts = pair.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            // Both parts are escaped before they are joined with a colon (RFC 6749, 2.3.1).
            (id, secret) = (parts.first.map(FormText.decoded), parts.count > 1 ? FormText.decoded(parts[1]) : nil)
        }
        guard id == ExampleData.clientID, secret == ExampleData.clientSecret else {
            throw Refusal(401, "The client id or the secret is wrong", code: "invalid_client", headers: headers)
        }
    }

    private func user(_ form: [String: String]) throws(Refusal) -> Int {
        guard let name = form["username"], let password = form["password"], !name.isEmpty, !password.isEmpty else {
            throw .invalid("username and password are needed")
        }
        guard let account = ExampleData.account(name, password) else {
            throw .invalidGrant("The user name or the password is wrong")
        }
        return account.id
    }

    /// The scopes of a request; `nil` if it names none.
    static func scopes(_ form: [String: String]) throws(Refusal) -> [String]? {
        guard let text = form["scope"], !text.isEmpty else { return nil }
        let scopes = text.split(separator: " ").map(String.init)
        guard scopes.allSatisfy(Self.scopes.contains) else {
            throw Refusal(400, "The scopes are read and write", code: "invalid_scope")
        }
        return scopes
    }

    private func answer(_ issued: TokenMint.Issued) -> Answer {
        var members: [String: JSON] = [
            "access_token": .string(issued.access), "token_type": "Bearer",
            "expires_in": .int(Int(mint.lifetime.components.seconds)),
            "scope": .string(issued.scopes.joined(separator: " ")),
        ]
        if let refresh = issued.refresh { members["refresh_token"] = .string(refresh) }
        // Tokens must not be cached (RFC 6749, 5.1).
        return .json(.object(members), headers: ["Cache-Control": "no-store", "Pragma": "no-cache"])
    }
}

extension Refusal {
    /// The refusal for a request with missing or superfluous parameters.
    static func invalid(_ message: String) -> Refusal {
        Refusal(400, message, code: "invalid_request")
    }
}
