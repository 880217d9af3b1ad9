import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("OAuth: signing in on another device")
struct DeviceSignInTests {
    private static let begin =
        #"{"device_code":"d-secret","user_code":"WD-JB","verification_uri":"https://login.test/x","expires_in":100"#

    /// The outcome of a sign-in, and when the polls were sent, in seconds.
    private func signIn(
        _ begin: String, _ polls: [ScriptedReply], _ configure: (inout Configuration) -> Void = { _ in }
    ) async throws -> (outcome: Result<Token, ServiceError>, polls: [Int64], prompt: DevicePrompt?) {
        let (clock, network) = (TestClock(), scripted())
        network.on(.post, "/device", .json(begin))
        if !polls.isEmpty { network.on(.post, "/token") { polls } }
        let metadata = OAuth.ServerMetadata(
            tokenEndpoint: "https://login.test/token", deviceAuthorizationEndpoint: "https://login.test/device")
        let oauth = OAuth(metadata, client: .public(id: "tool")) {
            $0.transport = network
            $0.time = clock
            configure(&$0)
        }
        let prompt = Noted<DevicePrompt?>(nil)
        let outcome = await clock.run {
            await Result { () async throws(ServiceError) in
                try await oauth.signInOnAnotherDevice(scopes: ["read"]) { prompt.value = $0 }
            }
        }
        let sent = network.sent
        #expect(String(decoding: sent[0].body, as: UTF8.self) == "scope=read&client_id=tool")
        for poll in sent.dropFirst() {
            #expect(
                String(decoding: poll.body, as: UTF8.self)
                    == "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Adevice_code&device_code=d-secret"
                    + "&client_id=tool")
        }
        let instants = sent.dropFirst().map { Instant.zero.duration(to: $0.at).components.seconds }
        return (outcome, instants, prompt.value)
    }

    private static func refusal(_ code: String, _ more: String = "", status: Int = 400) -> ScriptedReply {
        .json(#"{"error":"\#(code)"\#(more)}"#, status: status)
    }

    private static let pending = refusal("authorization_pending")
    private static let token = ScriptedReply.json(#"{"access_token":"a","expires_in":60}"#)

    @Test(
        "S7: the polls are sent exactly at the server's pace",
        arguments: [
            ("", [], [5]), (#","interval":5"#, [pending, pending], [5, 10, 15]),
            (#","interval":2"#, [pending], [2, 4]),
            (#","interval":0"#, [pending], [1, 2]), (#","interval":-5"#, [pending], [1, 2]),
            (#","interval":null"#, [pending], [5, 10]),
            (#","interval":"2""#, [pending, refusal("slow_down", #","interval":"20""#)], [2, 4, 24]),
            ("", [refusal("slow_down"), pending, refusal("slow_down")], [5, 15, 25, 40]),
            ("", [refusal("slow_down", #","interval":20"#), pending], [5, 25, 45]),
            ("", [refusal("slow_down", #","interval":20"#, status: 200), pending], [5, 25, 45]),
            ("", [refusal("slow_down", #","interval":1"#), pending], [5, 15, 25]),
            ("", [refusal("authorization_pending", status: 200)], [5, 10]),
            (
                "", [.failure(.reset), .failure(.reset), pending, .failure(.reset)],
                [5, 15, 35, 40, 50]
            ),
            ("", [.status(503), .failure(.refused), pending], [5, 15, 35, 40]),
            // A page of something on the way.
            (
                "",
                [
                    .status(200, headers: ["Content-Type": "text/html"], body: "<html>Welcome</html>"),
                    .status(403, body: "<!DOCTYPE html>"), .status(200, body: "<html>"), pending,
                ], [5, 15, 35, 75, 80]
            ),
        ] as [(String, [ScriptedReply], [Int64])])
    func pace(members: String, replies: [ScriptedReply], expected: [Int64]) async throws {
        let (outcome, polls, prompt) = try await signIn("\(Self.begin)\(members)}", replies + [Self.token])
        let token = try outcome.get()
        #expect(token.accessToken == "a")
        #expect(token.scopes == ["read"])
        #expect(polls == expected)
        #expect(prompt?.code == "WD-JB")
        #expect(prompt?.address == "https://login.test/x")
    }

    @Test(
        "S7: a refusal, an expired code and an error of the app end it at once",
        arguments: ["access_denied", "expired_token", "invalid_client", "invalid_grant"])
    func refusals(code: String) async throws {
        let (outcome, polls, _) = try await signIn("\(Self.begin)}", [Self.pending, Self.refusal(code)])
        guard case .failure(.rejected(let rejection)) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(rejection.code == code)
        #expect(polls == [5, 10])
    }

    @Test("S7: what is missing in the first answer is named as the server spells it")
    func missing() async throws {
        let error = await failure { () async throws(ServiceError) in
            let (network, clock) = (scripted(), TestClock())
            network.on(
                .post, "/device",
                .json(#"{"device_code":"d","user_code":"WD","verification_uri":"https://login.test/x"}"#))
            let metadata = OAuth.ServerMetadata(
                tokenEndpoint: "https://login.test/token", deviceAuthorizationEndpoint: "https://login.test/device")
            let oauth = OAuth(metadata, client: .public(id: "tool")) { ($0.transport, $0.time) = (network, clock) }
            _ = try await oauth.signInOnAnotherDevice { _ in }
        }
        guard case .decodingFailed(let failure) = error else { throw try #require(error) }
        #expect(failure.path == "expires_in")
    }

    @Test("S7: when the lifetime of the code is over there are no more polls")
    func expiry() async throws {
        let (outcome, polls, prompt) = try await signIn(#"\#(Self.begin),"interval":30}"#, [Self.pending.always])
        #expect(polls == [30, 60, 90])
        guard case .failure(let error) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(error == .timedOut(Timeout(.signIn, limit: .seconds(100), phase: .preparing)))
        #expect(prompt?.expiry == Date(timeIntervalSince1970: 1_000_000_100))
        let text = Self.begin.replacing(#":100"#, with: #":"100""#)
        #expect(try await signIn(#"\#(text),"interval":30}"#, [Self.pending.always]).polls == polls)
        let long = try await signIn(#"\#(Self.begin),"interval":1e300}"#, [])
        #expect(long.polls.isEmpty)
    }

    @Test("S7: canceling ends the wait")
    func cancelled() async throws {
        let (clock, network) = (TestClock(), scripted())
        network.on(.post, "/device", .json("\(Self.begin)}"))
        let metadata = OAuth.ServerMetadata(
            tokenEndpoint: "https://login.test/token", deviceAuthorizationEndpoint: "https://login.test/device")
        let oauth = OAuth(metadata, client: .public(id: "tool")) {
            $0.transport = network
            $0.time = clock
        }
        let task = Task(executorPreference: clock.executor) {
            await failure { () async throws(ServiceError) in try await oauth.signInOnAnotherDevice { _ in } }
        }
        await clock.sleepers(atLeast: 1)
        task.cancel()
        #expect(await task.value == .cancelled)
    }

    @Test(
        "an answer that no user could follow is decodingFailed",
        arguments: [
            ("verification_uri", #""http://login.test/x""#), ("verification_uri", #""javascript:x""#),
            ("verification_uri", "1"), ("user_code", #""""#), ("device_code", "null"), ("expires_in", "0"),
            ("expires_in", "-1"), ("expires_in", "null"), ("interval", #""soon""#),
            ("verification_uri_complete", #""file:///x""#),
        ])
    func malformed(name: String, value: String) async throws {
        var members = [
            "device_code": #""d""#, "user_code": #""c""#, "verification_uri": #""https://login.test/x""#,
            "expires_in": "100",
        ]
        members[name] = value
        let (outcome, polls, prompt) = try await signIn(
            "{\(members.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ","))}", [])
        guard case .failure(let error) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(error.refusedPath == name)
        #expect(polls.isEmpty && prompt == nil)
    }

    @Test("Google's name of the address, the address that has the code, and control characters in the code")
    func prompt() async throws {
        let answer =
            #"{"device_code":"d-secret","user_code":"A\u001bB","verification_url":"https://a.test/b","#
            + #""expires_in":60,"verification_uri_complete":"https://a.test/b?c=A"}"#
        let (_, _, shown) = try await signIn(answer, [Self.token])
        let prompt = try #require(shown)
        #expect(prompt.code == #"A\u{1B}B"#)
        #expect(prompt.address == "https://a.test/b")
        #expect(prompt.completeAddress == "https://a.test/b?c=A")
        #expect(!printed(prompt).contains("c=A") && !printed(prompt).contains("B\""))
    }

    @Test("the server for tests: a user who agrees, refuses or has not decided yet")
    func server() async throws {
        let scene = try await SignInScene()
        scene.server.answerOfUser = .leaves
        let token = try await scene.clock.run {
            async let token = scene.oauth.signInOnAnotherDevice(scopes: ["openid"]) { _ in }
            try await scene.clock.sleep(until: .ms(12_000), in: StopScope<ServiceError>())
            scene.server.answerOfUser = .agrees
            return try await token
        }
        #expect(token.claims?.subject == "ann")
        #expect(scene.forms.count == 3)
    }
}
