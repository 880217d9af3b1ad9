import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

extension OAuth.Grant {
    static func ticket(_ ticket: String) -> OAuth.Grant {
        OAuth.Grant("urn:example:ticket", parameters: ["ticket_token": ticket])
    }
}

@Suite("Signing in")
struct SignInSamples {
    private func discovered() async throws {
        let oauth = try await OAuth.discover("https://login.example.com", client: .public(id: "tool"))
        _ = oauth
    }

    private func revoking(_ oauth: OAuth) {
        let tokens = TokenStore(persistence: .file("/var/lib/pins/session")) {
            try await oauth.refresh($0)
        } revoke: {
            try await oauth.revoke($0)
        }
        _ = tokens
    }

    private func known(secret: String) {
        let github = OAuth.ServerMetadata(
            authorizationEndpoint: "https://github.com/login/oauth/authorize",
            tokenEndpoint: "https://github.com/login/oauth/access_token")
        let oauth = OAuth(github, client: .basic(id: "pins", secret: secret))
        _ = oauth
    }
}
