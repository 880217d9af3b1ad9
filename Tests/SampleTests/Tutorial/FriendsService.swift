import Errand

struct FriendsService: Sendable {
    private let client: APIClient

    init(_ client: APIClient) {
        self.client = client
    }

    func friends() async throws(ServiceError) -> LossyList<Friend> {
        try await client.run(.myFriends)
    }

    func friends(in category: String) async throws(ServiceError) -> LossyList<Friend> {
        try await client.run(.myFriends(in: category))
    }

    func add(_ id: Friend.ID) async throws(ServiceError) -> Friend {
        try await client.run(.addFriend(id))
    }

    func remove(_ id: Friend.ID) async throws(ServiceError) {
        try await client.run(.removeFriend(id))
    }

    func put(_ ids: [Friend.ID], into category: String) async throws(ServiceError) {
        try await client.run(.put(ids, into: category))
    }
}
