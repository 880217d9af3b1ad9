import Errand
import Observation

@Observable @MainActor
final class FriendsScreen {
    private(set) var friends: [Friend] = []
    private(set) var message: String?

    private let service: FriendsService
    private let latest = LatestOnly()

    init(_ service: FriendsService) {
        self.service = service
    }

    func load() async {
        let service = service
        do {
            friends = try await latest.run { try await service.friends() }.elements
            message = nil
        } catch .cancelled {
            // A user who has left the screen needs no message, and after a second tap the later load decides.
        } catch {
            message = error.localizedDescription
        }
    }
}
