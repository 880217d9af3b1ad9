import Errand
import Observation

@Observable @MainActor
final class FriendsModel {
    private(set) var friends: [User] = []
    private(set) var message: String?
    var isLoading: Bool { loads > 0 }
    private var loads = 0
    private let client: APIClient
    private let latest = LatestOnly()

    init(client: APIClient) { self.client = client }

    func load() async {
        loads += 1
        defer { loads -= 1 }
        let client = client
        do throws(ServiceError) {
            friends = try await latest.run { try await client.run(.friends) }
            message = nil
        } catch .cancelled {
            // A later load has begun, or the screen is gone.
        } catch {
            message = error.localizedDescription
        }
    }
}
