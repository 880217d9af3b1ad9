import Errand

extension Social {
    /// What a screen with the list shows: a button that loads, a spinner, the friends, or what went wrong.
    @MainActor
    public final class FriendsScreen {
        /// The friends, as they were loaded last.
        public private(set) var friends: [User] = []
        /// What went wrong with the last load, in words for the user.
        public private(set) var message: String?

        /// The spinner runs as long as it is not zero.
        public var activity: AsyncStream<Int> { service.activity }

        private let service: FriendsService
        private let latest = LatestOnly()

        /// Makes the screen's model.
        public init(_ service: FriendsService) {
            self.service = service
        }

        /// What the button does. Tapped again, the load that still runs is cancelled and a new one begins.
        public func load() async {
            let service = service
            do throws(ServiceError) {
                friends = try await latest.run { try await service.friends() }.elements
                message = nil
            } catch .cancelled {
                // The later load, or whoever has left the screen, decides what is shown.
            } catch {
                message = "\(error)"
            }
        }
    }
}
