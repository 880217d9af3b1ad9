import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import MainActorApp
import Testing

@Suite("An app's target, all of it on the main actor", .timeLimit(.minutes(10)))
@MainActor struct MainActorTests {
    @Test("a screen loads, removes and shows what went wrong")
    func screen() async throws {
        let network = ScriptedTransport()
        network.on(.get, "/users/7/friends") {
            ScriptedReply.json(#"{"users": [{"name": "Bo"}]}"#)
            ScriptedReply.json(#"[{"name": "Cy"}]"#)
            ScriptedReply.status(404)
        }
        network.on(.delete, "/users/7", .status(204))
        let screen = Screen(network)
        await screen.load()
        #expect(screen.users == [User(name: "Bo")] && screen.message == nil)
        #expect(try await screen.loadByRoute() == [User(name: "Cy")])
        try await screen.remove()
        await screen.load()
        #expect(screen.message?.isEmpty == false && screen.calls == 2)
    }

    @Test("a download shows its progress")
    func download() async throws {
        let network = ScriptedTransport()
        network.on(.get, "/photo", .status(200, headers: ["Content-Length": "3"], body: "abc"))
        let path = FileManager.default.temporaryDirectory.appending(path: "errand-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let screen = Screen(network)
        try await screen.download(to: path)
        #expect(FileManager.default.contents(atPath: path) == Data("abc".utf8))
        // The tasks that the closure has started run on the main actor, as this one does.
        while screen.fraction != 1 { await Task.yield() }
    }

    @Test("tokens, middlewares and closures of a configuration are written here")
    func configuration() async throws {
        let network = ScriptedTransport()
        network.onAny { .json(#"{"name": "Bo"}"#) }
        let tokens = TokenStore { _ in Token(accessToken: "new") }
        await tokens.signIn(Token(accessToken: "old"))
        let notes = Noted<[String]>([])
        let client = client(network, tokens) { note in notes.update { $0.append(note) } }
        let user: User = try await client.run(.get("users/7"))
        #expect(user == User(name: "Bo"))
        #expect(notes.value.contains("GET users/7") && notes.value.contains("1"))
    }
}
