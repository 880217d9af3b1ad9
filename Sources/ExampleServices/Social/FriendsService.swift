public import Errand

extension Social {
    /// The friends of the user whom the client speaks for.
    ///
    /// Each call ends when its task is cancelled, and throws nothing but `ServiceError`.
    public struct FriendsService: Sendable {
        private let client: APIClient

        /// Makes the service.
        public init(_ client: APIClient) {
            self.client = client
        }

        /// How many calls are in flight: a spinner runs as long as it is not zero.
        public var activity: AsyncStream<Int> { client.activity }

        /// All friends. Who has no number is left out; the list tells how many those are.
        public func friends() async throws(ServiceError) -> LossyList<User> {
            try await client.run(.friends)
        }

        /// The friends in a category.
        public func friends(in category: Category) async throws(ServiceError) -> LossyList<User> {
            try await client.run(.friends(in: category))
        }

        /// Adds a friend, and returns who that is.
        public func add(_ id: User.ID) async throws(ServiceError) -> User {
            try await client.run(.addFriend(id))
        }

        /// Removes a friend.
        public func remove(_ id: User.ID) async throws(ServiceError) {
            try await client.run(.removeFriend(id))
        }

        /// Puts friends into a category.
        public func put(_ ids: [User.ID], into category: Category) async throws(ServiceError) {
            try await client.run(.put(ids, into: category))
        }
    }
}
