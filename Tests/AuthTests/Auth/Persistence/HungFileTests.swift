@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("A session whose disk hangs", .timeLimit(.minutes(10)))
struct HungFileTests {
    private let scratch: Scratch
    private let file: FileTokenPersistence

    init() throws {
        scratch = try Scratch()
        file = FileTokenPersistence(path: scratch.path("session"))
    }

    @Test("C92 a call that needs the session ends at its deadline, and the session is loaded when the disk responds")
    func loading() async throws {
        try await file.save(SavedSession(id: UUID(), token: Token(accessToken: "saved"), received: Date()))
        let tokens = TokenStore(persistence: file) { $0 }
        let network = scripted()
        network.on(.get, "/x", .json("7"))
        let client = APIClient("https://api.test") {
            $0.transport = network
            $0.tokens = tokens
        }
        let disk = await HeldPlace(scratch.path("session"))
        let late = await #expect(throws: ServiceError.self) {
            try await client.run(Endpoint<Int>.get("x").deadline(.milliseconds(50)))
        }
        guard case .timedOut(let timeout) = late else { throw try #require(late) }
        #expect(timeout.bound == .deadline)
        disk.release()
        #expect(try await client.run(Endpoint<Int>.get("x")) == 7)
        #expect(network.sent.map { $0.request.headers["Authorization"] } == ["Bearer saved"])
    }

    @Test("T5, T14: a new token is not used before it is saved, and it is saved though every waiter has left")
    func saving() async throws {
        let disk = Noted<HeldPlace?>(nil)
        let tokens = TokenStore(persistence: file) { [scratch] _ in
            disk.value = await HeldPlace(scratch.path("session"))
            return Token(accessToken: "new", refreshToken: "new")
        }
        await tokens.signIn(Token(accessToken: "old", refreshToken: "old"))
        var events = tokens.events.makeAsyncIterator()
        let waiters = (0..<3).map { _ in Task { try await tokens.replacement(for: Token(accessToken: "old")) } }
        while disk.value == nil { await Task.yield() }
        for waiter in waiters {
            waiter.cancel()
            await #expect(throws: ServiceError.cancelled) { try await waiter.value }
        }
        let last = Task { try await tokens.replacement(for: Token(accessToken: "old")) }
        disk.value?.release()
        // By now it has been saved.
        #expect(try await last.value.accessToken == "new")
        #expect(try await file.load()?.token.accessToken == "new")
        guard case .refreshed = await events.next() else {
            Issue.record("another event")
            return
        }
    }

    @Test("C92 other tasks, and sessions in other folders, are not held up")
    func beside() async throws {
        let disks = [await HeldPlace(scratch.path("session")), await HeldPlace(scratch.path("other"))]
        // As many as there may be threads for tasks, and more.
        let hung = (0..<8).map { _ in Task { try await file.load() } }
        let healthy = FileTokenPersistence(path: scratch.path("healthy/session"))
        let session = SavedSession(id: UUID(), token: Token(accessToken: "a"), received: Date(timeIntervalSince1970: 0))
        try await healthy.exclusively { _ in await #expect(throws: Never.self) { try await healthy.save(session) } }
        #expect(try await healthy.load() == session)
        for disk in disks { disk.release() }
        for task in hung { #expect(try await task.value == nil) }
    }
}
