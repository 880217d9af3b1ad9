package import Errand
package import ErrandTesting
import Foundation

/// A scripted authorization server, and the grants that use it.
package struct OAuthScene: Sendable {
    package static let answer = #"{"access_token":"a","token_type":"Bearer","expires_in":3600,"refresh_token":"r"}"#

    package let clock: TestClock
    package let network = ScriptedTransport()
    package let login: APIClient
    private let make: @Sendable (APIClient) -> OAuth

    /// Creates the scene; `replies` are the responses of the token endpoint, in order.
    package init(
        _ replies: ScriptedReply..., seed: UInt64 = 0, id: String = "pins", secret: String = "s3cret",
        credentials: OAuth.Credentials = .inHeader, tokenType: String = "Bearer", parameters: QueryItems = [:],
        _ configure: (inout Configuration) -> Void = { _ in }
    ) {
        clock = TestClock(seed: seed)
        if !replies.isEmpty { network.on(.post, "/token") { replies } }
        login = testClient(network, clock, configure)
        make = { login in
            OAuth(
                server: login, clientID: id, clientSecret: secret, credentials: credentials, tokenType: tokenType,
                parameters: parameters)
        }
    }

    package var oauth: OAuth { make(login) }

    /// Asks for a token with a correct password.
    package func signIn(scopes: [String] = []) async throws(ServiceError) -> Token {
        try await oauth.token(.ann, scopes: scopes)
    }

    /// The bodies that were sent, in order.
    package var forms: [String] { network.sent.map { String(decoding: $0.body, as: UTF8.self) } }
}

extension OAuth.Grant {
    package static let ann = OAuth.Grant.password(username: "ann", password: "pass word")
}
