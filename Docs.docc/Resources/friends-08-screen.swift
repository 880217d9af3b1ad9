import Errand
import Observation

@Observable @MainActor
final class FriendsScreen {
    private(set) var friends: [Friend] = []
    private(set) var message: String?

    private let service: FriendsService

    init(_ service: FriendsService) {
        self.service = service
    }

    func load() async {
        do {
            friends = try await service.friends().elements
            message = nil
        } catch .cancelled {
            // A user who has left the screen needs no message.
        } catch {
            message = error.localizedDescription
        }
    }
}
