#if os(Linux)
import Errand
import ErrandTesting
import Foundation
import Testing

/// An authorization server of idpyoidc, which is a Python program: Tests/AuthorizationServer/provider.py.
///
/// It accepts only sign-ins with pushed parameters, and binds all tokens to a key. It knows two apps: `tool`, which is
/// public, and `signer`, which signs its requests.
final class IdpyoidcServer: Sendable {
    /// The address that the apps are registered with.
    static let redirectURI = "https://app.test/signed-in"

    private static let python = AuthorizationProgram.python(with: "flask, idpyoidc.server.oauth2.add_on.dpop")
    static var isAvailable: Bool { python != nil }
    static let isMissing: Comment = "no Python with idpyoidc 5.0.0 and Flask is installed"

    /// What the API says about a user.
    struct User: Decodable, Hashable {
        let sub: String
        let name: String
    }

    /// The key of the app that signs.
    let key: SigningKey
    private let program: AuthorizationProgram

    /// Starts a server.
    init() async throws {
        key = try SigningKey()
        program = try await AuthorizationProgram("provider.py", with: Self.python, [key.publicKey])
    }

    /// Its issuer.
    var issuer: String { program.issuer }

    /// A browser that follows the page's redirect by itself.
    var browser: ScriptedBrowser { program.browser }

    /// Finds the server as that app does.
    func oauth(as client: OAuth.Client = .public(id: "tool")) async throws(ServiceError) -> OAuth {
        try await program.oauth(as: client)
    }

    /// Opens a page, and returns the address that it leads to.
    func visit(_ address: String) async throws -> String { try await program.visit(address) }

    /// Calls the server's API with those header fields.
    func me(_ headers: HTTPHeaders) async throws(ServiceError) -> User {
        try await program.visitor.run(Endpoint<User>.get("me", headers: headers))
    }

    /// A client of the server's API.
    func client(_ tokens: TokenStore) -> APIClient {
        APIClient(issuer) {
            $0.tokens = tokens
            $0.rateLimit = .unlimited
        }
    }

    /// The names of the parameters of each request to that path.
    func asked(_ path: String) async throws(ServiceError) -> [[String]] {
        try await program.visitor.run(Endpoint<[String: [[String]]]>.get("asked"))[path] ?? []
    }
}
#endif
