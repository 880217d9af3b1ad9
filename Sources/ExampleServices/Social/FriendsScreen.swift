import Errand

extension Social {
    /// The model of a screen with the list: a button that loads, a spinner, the friends, or an error message.
    @MainActor
    public final class FriendsScreen {
        /// The friends of the last successful load.
        public private(set) var friends: [User] = []
        /// The error message of the last load, for the user.
        public private(set) var message: String?

        /// The number of calls in flight; show the spinner as long as it is not zero.
        public var activity: AsyncStream<Int> { service.activity }

        private let service: FriendsService
        private let latest = LatestOnly()

        /// Creates the screen's model.
        public init(_ service: FriendsService) {
            self.service = service
        }

        /// Loads the friends when the button is tapped. A second tap cancels the running load and begins a new one.
        public func load() async {
            let service = service
            do throws(ServiceError) {
                friends = try await latest.run { try await service.friends() }.elements
                message = nil
            } catch .cancelled {
                // The screen is gone, or a later load decides what it shows.
            } catch {
                message = error.localizedDescription
            }
        }
    }
}
