import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("OAuth: sign-ins that the server, the user or the task ends", .timeLimit(.minutes(10)))
struct SignInRefusalTests {
    /// The error of a sign-in whose redirect has these parameters beside the right `state` and `iss`.
    private func error(after more: QueryItems) async throws -> (error: ServiceError?, scene: SignInScene) {
        let scene = try await SignInScene()
        let error = await failure { () async throws(ServiceError) in
            try await scene.signIn { address in
                let known = parameters(of: address)
                let bound: QueryItems = ["state": known["state"], "iss": known["iss"]]
                return "https://app.test/signed-in?\(bound.encoded)&\(more.encoded)"
            }
        }
        return (error, scene)
    }

    @Test(
        "S4: an error in the redirect is rejected with its code and words, also beside a code",
        arguments: [
            (["error": "access_denied", "error_description": "Ann said no"], "access_denied", "Ann said no"),
            (["error": "access_denied"], "access_denied", "access_denied"),
            (["error": "server_error", "error_description": ""], "server_error", "server_error"),
            (["error": "invalid_scope", "code": "c-1"], "invalid_scope", "invalid_scope"),
            (["error_description": "Später + mehr", "error": "x"], "x", "Später + mehr"),
            (["error": "x", "error_description": "a\r\nb\u{1B}[31m"], "x", #"a b\u{1B}[31m"#),
        ] as [(QueryItems, String, String)])
    func refused(more: QueryItems, code: String, words: String) async throws {
        let (error, scene) = try await error(after: more)
        guard case .rejected(let rejection) = error else { throw try #require(error) }
        #expect(rejection.code == code)
        #expect(rejection.message == words)
        #expect(error?.isTransient == false && error?.mayHaveReachedServer == true)
        #expect(scene.forms.isEmpty)
    }

    @Test("S3: metadata that promises the issuer in the redirect and does not name it opens no page")
    func unnamedIssuer() async throws {
        var metadata = OAuth.ServerMetadata(
            authorizationEndpoint: "https://login.test/authorize", tokenEndpoint: "https://login.test/token")
        metadata.namesIssuerInRedirect = true
        let network = scripted()
        let oauth = OAuth(metadata, client: .public(id: "app")) { $0.transport = network }
        let browser = ScriptedBrowser { _ in
            Issue.record("a page was opened")
            return ""
        }
        let error = await failure { () async throws(ServiceError) in try await oauth.signIn(using: browser) }
        guard case .invalidRequest(let invalid) = error else { throw try #require(error) }
        #expect(invalid.reason.contains("issuer"))
        #expect(network.sent.isEmpty)
    }

    @Test("S4: an error that is there twice, or whose words have no end, is refused or cut")
    func hostile() async throws {
        let two = ["a", "b"].map { QueryItems.Item(name: "error", value: $0) }
        let twice = try await error(after: QueryItems(two))
        #expect(twice.error?.refusedPath == "error")
        let long = try await error(after: ["error": "x", "error_description": String(repeating: "y", count: 60_000)])
        guard case .rejected(let rejection) = long.error else { throw try #require(long.error) }
        #expect((1...600).contains(rejection.message?.utf8.count ?? 0))
    }

    @Test("S4: a user who closes the window is no error of the server: cancelled, and a new sign-in succeeds")
    func window() async throws {
        let scene = try await SignInScene()
        scene.server.answerOfUser = .leaves
        #expect(await failure { () async throws(ServiceError) in try await scene.signIn() } == .cancelled)
        struct Own: Browser {
            func redirect(from page: SignInPage) async throws -> String { throw ServiceError.cancelled }
        }
        let own = await failure { () async throws(ServiceError) in try await scene.oauth.signIn(using: Own()) }
        #expect(own == .cancelled)
        #expect(scene.forms.isEmpty)
        scene.server.answerOfUser = .agrees
        #expect(try await scene.signIn().type == "Bearer")
    }

    @Test("S4: a task that is canceled before it signs in opens no page")
    func early() async throws {
        let scene = try await SignInScene()
        let opened = Noted<[String]>([])
        let task = Task { [oauth = scene.oauth] in
            withUnsafeCurrentTask { $0?.cancel() }
            let scripted = ScriptedBrowser { address in
                opened.update { $0.append(address) }
                return address
            }
            let system = SystemBrowser { address in
                opened.update { $0.append(address) }
            } open: { address in
                opened.update { $0.append(address) }
            }
            let first = await failure { () async throws(ServiceError) in try await oauth.signIn(using: scripted) }
            return [first, await failure { () async throws(ServiceError) in try await oauth.signIn(using: system) }]
        }
        #expect(await task.value == [.cancelled, .cancelled])
        #expect(opened.value.isEmpty)
    }
}
