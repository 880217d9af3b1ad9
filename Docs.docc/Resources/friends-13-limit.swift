import Errand
import ErrandTesting
import Testing

@testable import Friends

@Suite("Friends")
struct FriendsTests {
    private let network = ScriptedTransport()
    private let clock = TestClock()
    private let service: FriendsService

    init() {
        let (network, clock) = (network, clock)
        service = FriendsService(
            socialClient(.social, appToken: "app", user: 1) {
                $0.transport = network
                $0.time = clock
            })
    }

    @Test("a friend without a number is skipped")
    func leftOut() async throws {
        network.on(.get, "/api/v1/friends", .json(#"[{"id": 2, "name": "Ben"}, {"name": "Nobody"}]"#))
        let friends = try await service.friends()
        #expect(friends.elements == [Friend(id: 2, name: "Ben")])
        #expect(friends.skippedCount == 1)
        #expect(network.sent.map(\.request.url.target) == ["/api/v1/friends?application_token=app&user_id=1"])
    }

    @Test("an error is shown in the server's words, and the next successful load clears it")
    @MainActor func message() async {
        let refusal = #"{"message": "This application may do nothing"}"#
        network.on(.get, "/api/v1/friends", .json(refusal, status: 403), .json("[]"))
        let screen = FriendsScreen(service)
        await screen.load()
        #expect(screen.message == "This application may do nothing")
        await screen.load()
        #expect(screen.message == nil)
    }

    @Test("tapped again, the load that runs is canceled, and the second one's friends are shown")
    @MainActor func tappedTwice() async {
        let slow = ScriptedReply.json(#"[{"id": 2}]"#).after(.seconds(1))
        network.on(.get, "/api/v1/friends", slow, .json(#"[{"id": 3}]"#))
        let screen = FriendsScreen(service)
        let first = Task { await screen.load() }
        await clock.sleepers(atLeast: 1)
        await screen.load()
        await clock.advance(by: .seconds(1))
        await first.value
        #expect(screen.friends == [Friend(id: 3)])
        #expect(screen.message == nil)
    }

    @Test("five loads go at once, and the sixth a second later")
    func limit() async throws {
        network.on(.get, "/api/v1/friends", .json("[]").times(6))
        try await clock.run {
            try await withThrowingTaskGroup(of: Void.self) { loads in
                for _ in 0..<6 { loads.addTask { _ = try await service.friends() } }
                try await loads.waitForAll()
            }
        }
        #expect(network.sent.prefix(5).allSatisfy { $0.at == .zero })
        #expect(clock.elapsed == .seconds(1))
    }
}
