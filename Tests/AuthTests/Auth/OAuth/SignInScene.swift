import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation

/// An authorization server, and an app that knows it.
struct SignInScene: Sendable {
    let clock = TestClock()
    let network = scripted()
    let server: AuthorizationServer
    let oauth: OAuth

    init(
        misbehavior: Set<AuthorizationServer.Misbehavior> = [], secret: String? = nil, requiresPush: Bool = false
    ) async throws {
        let server = AuthorizationServer(secret: secret, time: clock)
        server.requiresPushedParameters = requiresPush
        server.misbehavior = misbehavior
        server.serve(on: network)
        self.server = server
        oauth = try await OAuth.discover(
            server.issuer, client: secret.map { .basic(id: "app", secret: $0) } ?? .public(id: "app")
        ) { [network, clock] in
            $0.transport = network
            $0.time = clock
            $0.rateLimit = .unlimited
        }
    }

    /// The forms that were sent to the token endpoint.
    var forms: [String] {
        network.sent.filter { $0.request.url.path == "/token" }.map { String(decoding: $0.body, as: UTF8.self) }
    }

    /// Signs in with what a browser makes of the address of the redirect.
    func signIn(
        scopes: [String] = [], _ change: @escaping @Sendable (String) throws -> String = { $0 }
    ) async throws(ServiceError) -> Token {
        let browser = ScriptedBrowser { [server] in try change(server.visit($0)) }
        return try await oauth.signIn(scopes: scopes, using: browser)
    }
}
