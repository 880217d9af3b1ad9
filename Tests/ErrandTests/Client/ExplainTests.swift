import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("client.explain: what would be sent, and by which rules")
struct ExplainTests {
    private func explain<Response>(
        _ endpoint: Endpoint<Response>, _ configure: (inout Configuration) -> Void = { _ in }
    ) -> String {
        let network = scripted()
        let text = testClient(network, TestClock(), configure).explain(endpoint)
        #expect(network.sent.isEmpty)
        return text
    }

    @Test("the whole text, for a plain call")
    func whole() {
        let text = explain(Endpoint<Int>.get("users/\(7)", query: ["q": "it's"])) {
            $0.rateLimit = .requests(5, per: .seconds(1))
        }
        #expect(
            text == """
                curl -X GET 'https://api.test/users/7?q=it%27s' \\
                  -H 'Accept: application/json, text/json'

                signed:      no
                rate limit:  5 per 1 s; each send takes 1
                timeout:     30 s of silence in a send
                deadline:    none
                retry:       3 attempts, because GET is idempotent
                """)
    }

    @Test("a quotation mark in a header does not end the shell word")
    func quoting() {
        let text = explain(Endpoint<Int>.get("it's", headers: ["X-Name": "O'Neill; rm -rf $HOME"]))
        #expect(text.contains(#"-H 'X-Name: O'\''Neill; rm -rf $HOME'"#))
        #expect(text.contains(#"'https://api.test/it'\''s'"#))
    }

    @Test("why a call may be retried or not")
    func retrying() {
        let post = Endpoint<Int>.post("x", body: .json([1]))
        #expect(explain(post).contains("only if it is certain that nothing was sent"))
        #expect(explain(post.idempotencyKey("k")).contains("because the call has an idempotency key"))
        #expect(explain(post.idempotencyKey("k")).contains("-H 'Idempotency-Key: k'"))
        #expect(explain(post.retry(.never)).contains("retry:       no, there is one attempt"))
        #expect(explain(post).contains("--data-binary '‹3 bytes›'"))
    }

    @Test("a file and a form are shown as curl sends them, without secrets and without the content of data")
    func bodies() throws {
        let scratch = try Scratch()
        try scratch.write("a", to: "it's.tar")
        let path = scratch.path("it's.tar")
        let file = explain(Endpoint<Int>.put("x", body: .file(path)))
        #expect(file.contains("-H 'Content-Type: application/x-tar'"))
        #expect(file.contains("--data-binary '@\(scratch.folder)/it'\\''s.tar'"))
        let form = explain(
            Endpoint<Int>.post(
                "x",
                body: .multipart { form in
                    form.add("title", "Sun;set")
                    form.add("password", "hunter2")
                    form.add("text", String(repeating: "a", count: 201))
                    form.add("backup", file: path, filename: "b\".tar")
                    form.add("thumb", data: Data("content".utf8), contentType: "image/png")
                    form.add("place", json: [1])
                    form.add("log", stream: .stream(length: 3, HTTPBody.Chunks { nil }), contentType: "text/plain")
                }))
        let lines = form.split(separator: "\n").filter { $0.contains("form-string") || $0.contains("-F") }
        let quoted = "\(scratch.folder)/it'\\''s.tar"
        #expect(
            lines.map { $0.replacing(" \\", with: "").trimmingCharacters(in: .whitespaces) } == [
                "--form-string 'title=Sun;set'", "--form-string 'password=‹redacted›'",
                "--form-string 'text=‹201 bytes›'",
                #"-F 'backup=@"\#(quoted)";filename="b\".tar";type=application/x-tar'"#,
                "-F 'thumb=‹7 bytes›;type=image/png'", "-F 'place=‹JSON of Array<Int>›;type=application/json'",
                "-F 'log=‹a stream of 3 bytes›;type=text/plain'",
            ])
        #expect(!form.contains("boundary") && !form.contains("hunter2"))
    }

    @Test("how a call is signed, and its own rules")
    func rules() {
        let store = TokenStore(time: TestClock()) { $0 }
        let endpoint = Endpoint<Int>.get("x").timeout(.milliseconds(300)).deadline(.seconds(3)).permits(2)
        let text = explain(endpoint) { $0.tokens = store }
        #expect(text.contains("signed:      yes; fails without a signed-in user"))
        #expect(text.contains("timeout:     300 ms of silence in a send"))
        #expect(text.contains("deadline:    3 s"))
        #expect(text.contains("unlimited; each send takes 2"))
        #expect(explain(endpoint.authentication(.optional)) { $0.tokens = store }.contains("if a user is signed in"))
        #expect(explain(endpoint.authentication(.none)) { $0.tokens = store }.contains("signed:      no\n"))
        #expect(explain(endpoint.authentication(.required)).contains("the client has no tokens: it fails"))
        let own = Endpoint<Int>.get("x", headers: ["Authorization": "Basic YTpi"])
        let ownText = explain(own) { $0.tokens = store }
        #expect(ownText.contains("signed:      no, the request has its own Authorization header\n"))
        #expect(ownText.components(separatedBy: "-H 'Authorization: ").count == 2)
    }

    @Test("a call that can never get its permits is not said to be sent", arguments: [0, 3])
    func cost(permits: Int) {
        let text = explain(Endpoint<Int>.get("x").permits(permits)) { $0.rateLimit = .requests(2, per: .seconds(1)) }
        #expect(text.hasPrefix("Nothing would be sent."))
        #expect(text.contains("a cost of \(permits) permits"))
    }

    @Test("the limit of a shared limiter applies")
    func sharedLimiter() {
        let text = explain(Endpoint<Int>.get("x")) { $0.limiter = RateLimiter(.smooth(2, per: .seconds(1))) }
        #expect(text.contains("rate limit:  2 per 1 s, evenly spaced;"))
    }
}
