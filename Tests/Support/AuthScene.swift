package import Errand
package import ErrandTesting
import Foundation

/// A server, a store with its tokens, and a client that the store signs.
package struct AuthScene: Sendable {
    package let clock: TestClock
    package let server: AuthServer
    package let disk = MemoryTokenPersistence()
    package let network = ScriptedTransport()
    package let tokens: TokenStore
    package let client: APIClient

    /// Creates the scene; the response to every GET of `/me` is the name of the user whose token it carries.
    package init(
        seed: UInt64 = 0, lifetime: Duration? = nil, takes: Duration = .seconds(1), answering: Bool = true,
        _ configure: (inout Configuration) -> Void = { _ in }
    ) {
        let clock = TestClock(seed: seed)
        let server = AuthServer(clock, lifetime: lifetime, takes: takes)
        self.clock = clock
        self.server = server
        let tokens = TokenStore(persistence: disk, time: clock) { try await server.refresh($0) }
        self.tokens = tokens
        if answering { network.on(.get, "/me") { .response(server.answer($0)) } }
        client = testClient(network, clock) {
            $0.tokens = tokens
            configure(&$0)
        }
    }

    /// Asks who is signed in.
    package func me() async throws(ServiceError) -> String { try await client.run(.me) }

    /// The tokens that were sent, in order; `nil` for a request without one.
    package var sentTokens: [String?] {
        network.sent.map { sent in sent.request.headers["Authorization"].map { String($0.dropFirst("Bearer ".count)) } }
    }
}

extension Endpoint where Response == String {
    package static var me: Self { .get("me") }
}
