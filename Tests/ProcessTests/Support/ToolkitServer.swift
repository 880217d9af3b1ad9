#if os(Linux)
import Errand
import ErrandTesting
import Foundation
import Testing

/// An authorization server of django-oauth-toolkit, which is a Python program: Tests/AuthorizationServer/toolkit.py.
///
/// It knows three apps: `tool` is public, `web` has a secret, and `service` has the same one and no user.
final class ToolkitServer: Sendable {
    /// The secret of the apps that have one.
    static let secret = "s3cret %41+%&=:/"
    /// An address that the apps are registered with.
    static let redirectURI = "https://app.test/signed-in"

    private static let python = AuthorizationProgram.python(with: "oauth2_provider, jwcrypto")
    static var isAvailable: Bool { python != nil }
    static let isMissing: Comment = "no Python with django-oauth-toolkit 3.4 is installed"

    private let program: AuthorizationProgram

    /// Starts a server.
    init() async throws {
        program = try await AuthorizationProgram("toolkit.py", with: Self.python, issuerPath: "/o")
    }

    /// Its issuer.
    var issuer: String { program.issuer }
    /// The address of its API.
    var origin: String { program.origin }

    /// Makes fifty calls at once with a token that has expired. Returns the one that has replaced it.
    func replace(_ token: Token, of tokens: TokenStore) async throws -> Token {
        try await program.replace(token, of: tokens)
    }

    /// A browser that follows the page's redirect by itself.
    var browser: ScriptedBrowser { program.browser }

    /// Finds the server as that app does.
    func oauth(as client: OAuth.Client = .public(id: "tool")) async throws(ServiceError) -> OAuth {
        try await program.oauth(as: client)
    }

    /// Decides on another device.
    func activate(_ prompt: DevicePrompt, user: String) async throws {
        let address = try #require(prompt.completeAddress) + "&user=\(user)"
        _ = try await program.visitor.run(Endpoint<Data>.get(url: address))
    }

    /// Calls the server's API with an access token.
    func me(_ token: Token) async throws(ServiceError) -> [String: String?] {
        let headers: HTTPHeaders = ["Authorization": "Bearer \(token.accessToken)"]
        return try await program.visitor.run(Endpoint<[String: String?]>.get("me", headers: headers))
    }
}
#endif
