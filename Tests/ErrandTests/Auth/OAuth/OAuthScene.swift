import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation

/// A scripted authorization server, and the grants that use it.
struct OAuthScene: Sendable {
    static let answer = #"{"access_token":"a","token_type":"Bearer","expires_in":3600,"refresh_token":"r"}"#

    let clock: TestClock
    let network = scripted()
    let login: APIClient
    private let make: @Sendable (APIClient) -> OAuth

    /// Creates the scene; `replies` are the responses of the token endpoint, in order.
    init(
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

    var oauth: OAuth { make(login) }

    /// Asks for a token with a correct password.
    func signIn(scopes: [String] = []) async throws(ServiceError) -> Token {
        try await oauth.token(.ann, scopes: scopes)
    }

    /// The bodies that were sent, in order.
    var forms: [String] { network.sent.map { String(decoding: $0.body, as: UTF8.self) } }
}

extension OAuth.Grant {
    static let ann = OAuth.Grant.password(username: "ann", password: "pass word")
}
