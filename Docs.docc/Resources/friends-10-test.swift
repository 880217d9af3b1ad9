import Errand
import ErrandTesting
import Testing

@testable import Friends

@Suite("Friends")
struct FriendsTests {
    private let network = ScriptedTransport()
    private let service: FriendsService

    init() {
        let network = network
        service = FriendsService(
            socialClient(.social, appToken: "app", user: 1) {
                $0.transport = network
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
}
