#if os(Linux)
import Errand
import ErrandTesting
import Foundation
import Testing

/// An authorization server of Authlib, which is a Python program: Tests/AuthorizationServer.
///
/// It knows five apps, each of which proves itself in one way: `tool` by its id, `web` and `form` with a secret in the
/// header and in the form, `raw` with a secret in the header that is not encoded, and `signer` with a signature.
final class AuthlibServer: Sendable {
    /// The secret of the apps that have one. Encoded and raw, a server reads it as different texts.
    static let secret = "s3cret %41+%&=:/"

    private static let python = AuthorizationProgram.python(with: "authlib.oauth2.rfc9207, flask")
    static var isAvailable: Bool { python != nil }
    static let isMissing: Comment = "no Python with Authlib 1.6 or later and Flask is installed"

    /// The key of the app that signs.
    let key: SigningKey
    private let program: AuthorizationProgram

    /// Starts a server.
    init() async throws {
        key = try SigningKey()
        program = try await AuthorizationProgram("server.py", with: Self.python, [key.publicKey])
    }

    /// Its issuer.
    var issuer: String { program.issuer }
    private var visitor: APIClient { program.visitor }

    /// Finds the server as that app does.
    func oauth(as client: OAuth.Client = .public(id: "tool")) async throws(ServiceError) -> OAuth {
        try await program.oauth(as: client)
    }

    /// Makes fifty calls at once with a token that has expired. Returns the one that has replaced it.
    func replace(_ token: Token, of tokens: TokenStore) async throws -> Token {
        try await program.replace(token, of: tokens)
    }

    /// A browser that follows the page's redirect by itself.
    var browser: ScriptedBrowser { program.browser }

    /// Opens a page, and returns the address that it leads to.
    func visit(_ address: String) async throws -> String { try await program.visit(address) }

    /// Decides on another device.
    func activate(_ prompt: DevicePrompt, user: String) async throws {
        let address = try #require(prompt.completeAddress) + "&user=\(user)"
        _ = try await visitor.run(Endpoint<Data>.get(url: address))
    }

    /// Calls the server's API with an access token.
    func me(_ token: Token) async throws(ServiceError) -> [String: String?] {
        let headers: HTTPHeaders = ["Authorization": "Bearer \(token.accessToken)"]
        return try await visitor.run(Endpoint<[String: String?]>.get("me", headers: headers))
    }

    /// How many refresh tokens were used, and how many a second time.
    func spent() async throws(ServiceError) -> [String: Int] {
        try await visitor.run(.get("spent"))
    }
}
#endif
