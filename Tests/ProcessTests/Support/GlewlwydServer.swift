#if os(Linux)
import Errand
import ErrandTesting
import Foundation
import Testing

/// Glewlwyd, an authorization server in C, which a Python program starts: Tests/AuthorizationServer/glewlwyd.py.
///
/// It knows four apps: `tool` is public, `web` and `form` have a secret in the header and in the form, and `signer`
/// signs its requests with one of two keys.
final class GlewlwydServer: Sendable {
    /// The secret of the apps that have one.
    static let secret = "s3cret %41+%&=:/"
    /// The address that the apps are registered with.
    static let redirectURI = "https://app.test/signed-in"

    private static let python =
        Program.glewlwyd.isInstalled && Program.openssl.isInstalled
        ? AuthorizationProgram.python(with: "sqlite3") : nil
    static var isAvailable: Bool { python != nil }
    static let isMissing: Comment = "Glewlwyd 2.7 is not installed, or Python is not"

    /// The keys of the app that signs: one on the curve P-256, and one for RSA.
    let keys: [SigningKey]
    private let program: AuthorizationProgram

    /// Starts a server.
    init() async throws {
        let rsa = try await Program.openssl.run(["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"])
        keys = [try SigningKey(), try SigningKey(pem: String(decoding: rsa, as: UTF8.self))]
        program = try await AuthorizationProgram(
            "glewlwyd.py", with: Self.python, keys.map(\.publicKey), issuerPath: "/api/oidc")
    }

    /// Its issuer.
    var issuer: String { program.issuer }
    /// The issuer that wants pushed parameters, and a nonce in each proof of a key.
    var strictIssuer: String { "\(program.origin)/api/strict" }

    /// The browser of the user, who has signed in there and agrees.
    var browser: ScriptedBrowser {
        ScriptedBrowser { [self] address in try await visit(address) }
    }

    /// Opens a page, and returns the address that it leads to.
    func visit(_ address: String, user: String = "ann") async throws -> String {
        let reply = try await visitor.reply(
            to: Endpoint<Data>.get("open", query: ["address": address, "user": user]).accepting(302))
        return try #require(reply.headers["Location"])
    }

    /// Agrees on another device.
    func activate(_ prompt: DevicePrompt) async throws {
        _ = try await visitor.run(Endpoint<Data>.get("activate", query: ["user_code": prompt.code]))
    }

    /// Finds an issuer of the server as that app does.
    func oauth(as client: OAuth.Client = .public(id: "tool"), at issuer: String? = nil) async throws(ServiceError)
        -> OAuth
    {
        try await program.oauth(as: client, at: issuer)
    }

    /// The app that signs, for a server that wants the URL of the very endpoint as the audience.
    static func signer(_ key: SigningKey) -> OAuth.Client {
        struct Claims: Encodable {
            var iss = "signer", sub = "signer", jti = UUID().uuidString
            let aud: String
            var iat = Date.now, exp = Date.now + 60
        }
        return OAuth.Client(id: "signer") { request in
            let assertion = try key.jsonWebToken(Claims(aud: request.endpoint ?? ""))
            return OAuth.Client.Proof(
                parameters: [
                    "client_id": "signer",
                    "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
                    "client_assertion": assertion,
                ])
        }
    }

    private var visitor: APIClient {
        APIClient("http://127.0.0.1:\(program.otherPorts.first ?? 0)") {
            $0.rateLimit = .unlimited
            $0.redirects = .never
        }
    }
}
#endif
