import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("Bodies in events")
struct ShownBodiesTests {
    private func bodies(
        _ body: RequestBody?, _ reply: ScriptedReply, _ configure: (inout Configuration) -> Void = { _ in }
    ) async -> [String] {
        let (network, log) = (scripted(), Noted<[String]>([]))
        network.onAny { reply }
        let client = testClient(network) {
            $0.bodiesInEvents = 40
            configure(&$0)
            $0.observe = { event in
                switch event.kind {
                case .sentBody(let text), .answeredBody(let text):
                    log.update { $0.append(text) }
                    #expect(LogFormatter().line(for: event).hasSuffix(text))
                default: break
                }
            }
        }
        _ = try? await client.run(Endpoint<Data>.post("x", body: body))
        return log.value
    }

    @Test("none are shown by default, and nothing for an empty body")
    func none() async {
        #expect(await bodies(.json(["a": 1]), .json("1")) { $0.bodiesInEvents = 0 } == [])
        #expect(await bodies(nil, .status(204)) == [])
    }

    @Test("text is shown from its beginning, without secrets and control characters")
    func text() async {
        let (name, secret) = ("Ann", "t0p-secret")
        #expect(
            await bodies(
                .json(["name": name, "password": "abc"]),
                .status(400, body: "{\"token\": \"xyz\", \"is\": \"t0p-secret\u{1B}\"}")
            ) {
                $0.credentials = .bearer(secret)
                $0.bodiesInEvents = 60
            } == [
                #"{"name":"Ann","password":‹redacted›}"#,
                #"{"token": ‹redacted›, "is": "‹redacted›\u{1B}"}"#,
            ])
        let list = "[" + String(repeating: "1,", count: 99) + "1]"
        #expect(
            await bodies(.form(["user": "a&b", "password": "abc"]), .json(list))
                == ["user=a%26b&password=‹redacted›", "\(list.prefix(40))…"])
        let named = await bodies(.json(["pin": "1234"]), .json("1")) { $0.secretNames = ["pin"] }
        #expect(named == [#"{"pin":‹redacted›}"#, "1"])
    }

    @Test("what is no text, or is not in memory, is named with its size")
    func others() async {
        let stream = AsyncStream<Data> { $0.finish() }
        #expect(
            await bodies(
                .data(Data([0, 1, 2]), contentType: "image/png"),
                .status(200, headers: ["Content-Type": "application/octet-stream"], body: "abc")
            ) == ["‹3 bytes of image/png›", "‹3 bytes of application/octet-stream›"])
        #expect(
            await bodies(.stream(length: nil, contentType: "text/plain", stream), .status(204))
                == ["‹a stream of text/plain›"])
        let form = RequestBody.form(["text": String(repeating: "a", count: 70_000)])
        #expect(await bodies(form, .status(204)) == ["‹a form of 70005 bytes›"])
    }
}
