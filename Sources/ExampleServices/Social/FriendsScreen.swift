import Errand
import Foundation
public import Observation

extension Social {
    /// The model of a screen with the list: a button that loads, a spinner, the friends, or an error message.
    @MainActor @Observable
    public final class FriendsScreen {
        /// The friends of the last successful load; while the first is running, those that are stored.
        public private(set) var friends: [User] = []
        /// The number of friends that the last successful load could not read.
        public private(set) var skippedCount = 0
        /// The error message of the last load, for the user.
        public private(set) var message: String?
        /// Whether a load is running; show the spinner as long as it is.
        public var isLoading: Bool { loads > 0 }

        /// A message about what is missing from the list; `nil` if it is complete.
        public var note: String? {
            switch skippedCount {
            case 0: nil
            case 1: "One friend could not be shown"
            default: "\(skippedCount) friends could not be shown"
            }
        }

        /// The running loads: for a moment two, because a load that is canceled ends after the next has begun.
        private var loads = 0
        private let service: FriendsService
        private let latest = LatestOnly()

        /// Creates the screen's model.
        public init(_ service: FriendsService) {
            self.service = service
        }

        /// Loads the friends when the button is tapped, and shows at once what is stored. A second tap cancels the
        /// running load and begins a new one.
        public func load() async {
            loads += 1
            defer { loads -= 1 }
            let service = service
            do throws(ServiceError) {
                try await latest.run { [weak self] () async throws(ServiceError) in
                    for try await reply in service.friendsAtOnce() { await self?.show(reply.value) }
                }
                message = nil
            } catch .cancelled {
                // The screen is gone, or a later load decides what it shows.
            } catch {
                message = error.localizedDescription
            }
        }

        private func show(_ list: LossyList<User>) {
            (friends, skippedCount) = (list.elements, list.skippedCount)
        }
    }
}
