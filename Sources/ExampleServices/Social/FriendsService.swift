public import Errand

extension Social {
    /// The friends of the client's user.
    ///
    /// Each call ends when its task is cancelled, and throws only `ServiceError`.
    public struct FriendsService: Sendable {
        private let client: APIClient

        /// Creates the service.
        public init(_ client: APIClient) {
            self.client = client
        }

        /// The number of calls in flight; show a spinner as long as it is not zero.
        public var activity: AsyncStream<Int> { client.activity }

        /// Returns all friends. Users without a number are left out; the list reports how many.
        public func friends() async throws(ServiceError) -> LossyList<User> {
            try await client.run(.friends)
        }

        /// Returns the friends in a category.
        public func friends(in category: Category) async throws(ServiceError) -> LossyList<User> {
            try await client.run(.friends(in: category))
        }

        /// Adds a friend and returns the user.
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
