public import Errand

extension Social {
    /// The friends of the client's user, and of others who show theirs.
    ///
    /// Each call ends when its task is canceled, and throws only `ServiceError`.
    public struct FriendsService: Sendable {
        private let client: APIClient

        /// Creates the service.
        public init(_ client: APIClient) {
            self.client = client
        }

        /// The number of calls in flight; show a spinner as long as it is not zero.
        public var activity: AsyncStream<Int> { client.activity }

        /// Returns all friends, or those in a category. Users without a number are left out; the list reports how many.
        public func friends(in category: Category? = nil) async throws(ServiceError) -> LossyList<User> {
            try await client.run(.friends(in: category))
        }

        /// The friends as the last call found them, at once, and then as they are now: for the beginning of a screen.
        public func friendsAtOnce() -> Replies<LossyList<User>> {
            client.replies(to: .friends())
        }

        /// Returns the friends of a user, all of them or those in a category. A user may keep the list private; then
        /// the error is `.rejected` with the status 403.
        public func friends(
            of user: User.ID, in category: Category? = nil
        ) async throws(ServiceError) -> LossyList<User> {
            try await client.run(.friends(of: user, in: category))
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
