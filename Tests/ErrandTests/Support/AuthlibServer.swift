#if os(Linux)
import Errand
import ErrandTesting
import Foundation
import Testing

/// An authorization server of Authlib, which is a Python program: Tests/AuthorizationServer.
///
/// It knows four apps, each of which proves itself in one way: `tool` by its id, `web` and `form` with a secret in the
/// header and in the form, and `signer` with a signature.
final class AuthlibServer: Sendable {
    /// The secret of the apps that have one.
    static let secret = "s3cret +%&=:/"

    /// The Python that has Authlib and Flask: the one in the environment, or the system's.
    private static let python: String? = {
        let chosen = ProcessInfo.processInfo.environment["ERRAND_TEST_PYTHON"] ?? ""
        guard let path = chosen.isEmpty ? Program.python3.path : chosen else { return nil }
        return (try? Program.runAtOnce(path, ["-c", "import authlib.oauth2.rfc9207, flask"])).map { _ in path }
    }()

    static var isAvailable: Bool { python != nil }
    static let isMissing: Comment = "no Python with Authlib 1.6 or later and Flask is installed"

    /// Its issuer.
    let issuer: String
    /// The key of the app that signs.
    let key: SigningKey
    private let process: ServerProcess
    /// A client that does what a browser does, and calls the server's API.
    let visitor: APIClient

    /// Starts a server.
    init() async throws {
        let script = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "AuthorizationServer/server.py")
        key = try SigningKey()
        process = try await ServerProcess(at: #require(Self.python), [script.path, key.publicKey], readyAfter: "ready")
        let digits = process.greeting.split(separator: "ready ").last?.prefix { $0.isNumber }
        issuer = "http://127.0.0.1:\(try #require(digits.flatMap { Int($0) }))"
        visitor = APIClient(issuer) {
            $0.rateLimit = .unlimited
            $0.redirects = .never
        }
    }

    /// Finds the server as that app does.
    func oauth(as client: OAuth.Client = .public(id: "tool")) async throws(ServiceError) -> OAuth {
        try await OAuth.discover(issuer, client: client) { $0.rateLimit = .unlimited }
    }

    /// A browser that follows the page's redirect by itself.
    var browser: ScriptedBrowser {
        ScriptedBrowser { [self] address in try await visit(address) }
    }

    /// Opens a page, and returns the address that it leads to.
    func visit(_ address: String) async throws -> String {
        let reply = try await visitor.reply(to: Endpoint<Data>.get(url: address).accepting(302))
        return try #require(reply.headers["Location"])
    }

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
