import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("OAuth: what a sign-in shows", .timeLimit(.minutes(10)))
struct SignInSecretsTests {
    /// What the token endpoint makes of the texts that it must not see again.
    enum Answer: CaseIterable {
        case tokens, refusal, refusalWithSuccess, page, failure, wrongType, wrongExpiry, wrongName
        case foreignIDToken

        func response(_ secrets: [String]) throws -> HTTPResponse {
            let echo = secrets.joined(separator: " ")
            let token = Self.issued.joined(separator: "-")
            var members: [String: JSONValue] = ["access_token": .string(Self.issued[0])]
            var status = 200
            switch self {
            case .tokens: members["refresh_token"] = .string(Self.issued[1])
            case .refusal, .refusalWithSuccess, .failure:
                members = ["error": "invalid_grant", "error_description": .string("no \(echo)")]
                status = self == .refusal ? 400 : self == .failure ? 500 : 200
            case .page: return HTTPResponse(status: 200, headers: [:], body: .bytes(Data("<p>\(echo)</p>".utf8)))
            case .wrongType: members["token_type"] = .string(token)
            case .wrongExpiry: members["expires_in"] = .string(echo)
            case .wrongName: members = ["accessToken": .array([.string(Self.issued[0])]), "hint": .string(echo)]
            case .foreignIDToken: members["id_token"] = .string(Self.issued[2])
            }
            return HTTPResponse(
                status: status, headers: ["Content-Type": "application/json"],
                body: .bytes(try JSONEncoder().encode(members)))
        }

        /// The tokens of the server: an access token, a refresh token and the text of an ID token.
        static let issued = ["at-51c0ffee", "rt-0ddba11", "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbm4ifQ.c2lnbmF0dXJl"]
    }

    enum App: CaseIterable {
        case `public`, basic, body, key

        func client() throws -> OAuth.Client {
            switch self {
            case .public: .public(id: "app")
            case .basic: .basic(id: "app", secret: Self.secret)
            case .body: .body(id: "app", secret: Self.secret)
            case .key: .privateKey(id: "app", try SigningKey())
            }
        }

        static let secret = "s3cret-77aa01"
    }

    @Test(
        "S10: no code, verifier, state, secret, assertion or token is in a description, event, error, log line or URL",
        arguments: Answer.allCases, App.allCases)
    func nothing(answer: Answer, app: App) async throws {
        let (clock, network) = (TestClock(), scripted())
        let lines = Noted<[String]>([])
        let sent = Noted<[String: String]>([:])
        let client = try app.client()
        network.on(.post, "https://login.test/token") { request in
            let body = try await request.body?.collect(upTo: 1 << 20) ?? Data()
            let form = parameters(of: "?" + String(decoding: body, as: UTF8.self))
            // A response can echo only what was in its own request.
            var own: [String: String] = [:]
            for name in ["code", "code_verifier", "client_secret", "client_assertion", "refresh_token"] {
                own[name] = form[name]
            }
            own["basic"] = request.headers["Authorization"].map { String($0.split(separator: " ").last ?? "") }
            sent.update { [own] in $0.merge(own) { $1 } }
            return .response(try answer.response(Array(own.values)))
        }
        let metadata = OAuth.ServerMetadata(
            issuer: "https://login.test", authorizationEndpoint: "https://login.test/authorize",
            tokenEndpoint: "https://login.test/token")
        let oauth = OAuth(metadata, client: client) {
            $0.transport = network
            $0.time = clock
            $0.observe = { event in
                lines.update { $0.append(printed(event) + LogFormatter().line(for: event)) }
            }
        }
        let shown = Noted<[String]>([])
        let browser = ScriptedBrowser { address in
            shown.update { $0.append(address) }
            let state = parameters(of: address)["state"] ?? ""
            sent.update { $0["state"] = state }
            return "https://app.test/signed-in?code=c0de-88aa02&state=\(state)&iss=https://login.test"
        }
        let scopes = answer == .foreignIDToken ? ["openid"] : []
        let outcome = await clock.run {
            await Result { () async throws(ServiceError) in try await oauth.signIn(scopes: scopes, using: browser) }
        }
        let refreshed = await clock.run {
            await Result { () async throws(ServiceError) in
                try await oauth.refresh(Token(accessToken: "at-0", refreshToken: "rt-99beef"))
            }
        }
        try #require(sent.value["code"] == "c0de-88aa02" && sent.value["refresh_token"] == "rt-99beef")
        try #require((sent.value["code_verifier"]?.utf8.count ?? 0) >= 43)
        var text = [printed(oauth), printed(client), printed(browser)] + lines.value
        for outcome in [outcome, refreshed] {
            text.append(printed(outcome))
            if case .failure(let error) = outcome { text += [printed(error), error.localizedDescription] }
        }
        let addresses = shown.value + network.sent.map(\.request.url.absoluteString)
        for (name, secret) in sent.value where !secret.isEmpty {
            for text in text where text.contains(secret) { Issue.record("\(name) is in \(text)") }
            // The state is the only one that a page's address has to bring.
            for address in addresses where name != "state" && address.contains(secret) {
                Issue.record("\(name) is in \(address)")
            }
        }
        for token in Answer.issued {
            for text in text + addresses where text.contains(token) { Issue.record("\(token) is in \(text)") }
        }
    }

    @Test(
        "S10: the codes of a sign-in on another device are in no error, event or log line",
        arguments: [
            #"{"device_code":"d-61ff02","user_code":"WDJB-MJHT","verification_uri":7,"expires_in":60}"#,
            #"{"device_code":"d-61ff02","user_code":["WDJB-MJHT"],"verification_uri":"https://a.test"}"#,
            #"{"device_code":"d-61ff02","user_code":"WDJB-MJHT","expires_in":60,"verification_uri":"https://a.test"}"#,
        ], [200, 400, 500])
    func device(begin: String, status: Int) async throws {
        let (clock, network) = (TestClock(), scripted())
        let lines = Noted<[String]>([])
        network.on(.post, "/device", .json(begin))
        // It echoes what it was sent.
        network.on(.post, "/token") { _ in
            let text = #"{"error":"access_denied","error_description":"no d-61ff02"}"#
            return .status(status, headers: ["Content-Type": "application/json"], body: text)
        }
        let metadata = OAuth.ServerMetadata(
            tokenEndpoint: "https://login.test/token", deviceAuthorizationEndpoint: "https://login.test/device")
        let oauth = OAuth(metadata, client: .public(id: "tool")) {
            $0.transport = network
            $0.time = clock
            $0.observe = { event in
                lines.update { $0.append(printed(event) + LogFormatter().line(for: event)) }
            }
        }
        let error = await clock.run {
            await failure { () async throws(ServiceError) in
                try await oauth.signInOnAnotherDevice { lines.value.append(printed($0)) }
            }
        }
        let text = lines.value.joined() + printed(try #require(error)) + printed(oauth)
        #expect(!text.contains("d-61ff02") && !text.contains("WDJB"), "\(text)")
    }

    @Test("S10: an app that signs shows no key")
    func key() async throws {
        let key = try SigningKey()
        let client = OAuth.Client.privateKey(id: "app", key)
        let oauth = OAuth(OAuth.ServerMetadata(issuer: "https://login.test"), client: client)
        // A dump has each byte on a line of its own.
        let text = (printed(key) + printed(client) + printed(oauth)).filter { !$0.isWhitespace }
        let raw = key.rawRepresentation
        let bytes = [",", "-"].map { raw.map(String.init).joined(separator: $0) }
        for form in bytes + [raw.base64EncodedString(), Base64URL.encode(raw)] {
            #expect(!text.contains(form))
        }
        #expect(text.contains(key.thumbprint))
    }

    @Test("S10: the parts of a sign-in that a browser is given print no state, and a prompt no code")
    func parts() async throws {
        let scene = try await SignInScene()
        let printedPage = Noted<String>("")
        struct Looking: Browser {
            let server: AuthorizationServer
            let printedPage: Noted<String>

            func redirect(from page: SignInPage) async throws -> String {
                let address = try await page.address(redirectingTo: "https://app.test")
                printedPage.value = printed(page) + printed(Optional(page) as Any)
                printedPage.update { $0 += parameters(of: address)["state"] ?? "no state" }
                return try server.visit(address)
            }
        }
        _ = try await scene.oauth.signIn(using: Looking(server: scene.server, printedPage: printedPage))
        let (text, state) = (printedPage.value.dropLast(43), printedPage.value.suffix(43))
        #expect(!text.isEmpty && !text.contains(state))
        #expect(printed(SystemBrowser(redirectURI: "http://127.0.0.1/")).contains("SystemBrowser"))
        let prompt = DevicePrompt(code: "WDJB-MJHT", address: "https://login.test", expiry: scene.clock.date)
        #expect(!printed(prompt).contains("WDJB"))
    }
}
