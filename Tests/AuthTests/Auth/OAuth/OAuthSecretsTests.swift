import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("OAuth: no secrets in any output")
struct OAuthSecretsTests {
    private static let secret = "s3cret%-5bé"
    private static let escaped = "s3cret%25-5b%C3%A9"
    private static let basic = "cGluczpzM2NyZXQlMjUtNWIlQzMlQTk="
    private static let planted = [
        secret, escaped, basic, Planted.password, Planted.refresh, Planted.access,
    ]

    private func expectNone(_ text: String, _ place: String) {
        for secret in Self.planted where text.contains(secret) { Issue.record("\(secret) is in \(place): \(text)") }
    }

    @Test(
        "C90: the grants, and values that contain them, print without secrets",
        arguments: [OAuth.Credentials.inHeader, .inBody, .idOnly])
    func values(credentials: OAuth.Credentials) {
        let scene = OAuthScene(
            secret: Self.secret, credentials: credentials, parameters: ["otp_token": Planted.access])
        expectNone(printed(scene.oauth), "oauth")
        #expect("\(scene.oauth)".contains("pins"))
        let grant = OAuth.Grant.password(username: "ann", password: Planted.password)
        expectNone(printed(grant) + printed(Optional(grant) as Any), "grant")
        #expect("\(grant)".contains("username=ann"))
    }

    /// Responses that echo what was sent, in every place where an error shows text of the server.
    static let answers = [
        "{\"error\":\"invalid_grant\",\"error_description\":\"bad \(planted.joined(separator: ", "))\"}",
        "{\"error\":\"\(secret)\"}", "{\"error\":\"\(Planted.password)\",\"error_description\":\"\(Planted.refresh)\"}",
        "{\"access_token\":\"\(Planted.access)\",\"token_type\":\"\(Planted.refresh)\"}",
        "{\"access_token\":\"\(Planted.access)\",\"expires_in\":\"\(secret)\"}",
        "{\"access_token\":[\"\(Planted.access)\"],\"hint\":\"\(secret)\"}",
        "{\"access_token\":\"\(Planted.access)\\n\",\"hint\":\"\(Planted.refresh) \(Planted.password)\"}",
        "<html>\(planted.joined(separator: " "))</html>",
    ]

    @Test(
        "C90: a response that echoes secrets brings them into no error, event, explanation or log line",
        arguments: answers, [OAuth.Credentials.inHeader, .inBody])
    func echoed(answer: String, credentials: OAuth.Credentials) async throws {
        let own = [Self.secret, Self.escaped] + (credentials == .inHeader ? [Self.basic] : [])
        for status in [200, 400, 401, 403, 429, 500] {
            let scene = OAuthScene(
                .json(answer, status: status).always, secret: Self.secret, credentials: credentials)
            let events = scene.login.diagnostics
            let tokens = TokenStore(time: scene.clock) { [oauth = scene.oauth] in try await oauth.refresh($0) }
            let reported = tokens.events
            try await scene.clock.runTest {
                // A response can echo only what was in its own request.
                let grant = OAuth.Grant.password(username: "ann", password: Planted.password)
                let signIn = await failure { () async throws(ServiceError) in try await scene.oauth.token(grant) }
                // Of an answer to a refresh, only what is odd is left out.
                let isOdd = status == 200 && (answer.contains("expires_in") || answer.contains("token_type"))
                if !isOdd || signIn != nil { expect(signIn, hides: own + [Planted.password]) }
                await tokens.signIn(Token(accessToken: "old", refreshToken: Planted.refresh, expiry: scene.clock.date))
                let refresh = await failure(of: tokens.token)
                if isOdd { #expect(refresh == nil) } else { expect(refresh, hides: own + [Planted.refresh]) }
                await scene.login.shutdown()
                for await event in events {
                    let text = printed(event) + LogFormatter().line(for: event)
                    for secret in own where text.contains(secret) {
                        Issue.record("\(secret) is in \(text)")
                    }
                }
                var listener = reported.makeAsyncIterator()
                _ = await listener.next()
                if refresh?.reason != nil, let event = await listener.next() {
                    #expect(!printed(event).contains(Planted.refresh) && !printed(event).contains(Self.secret))
                }
            }
        }
    }

    private func expect(_ error: ServiceError?, hides secrets: [String]) {
        guard let error else {
            Issue.record("there is no error")
            return
        }
        let text = printed(error) + error.localizedDescription
        for secret in secrets where text.contains(secret) { Issue.record("\(secret) is in \(text)") }
    }
}
