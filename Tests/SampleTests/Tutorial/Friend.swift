/// Somebody's account, with as much as its owner shows.
struct Friend: Codable, Hashable, Identifiable, Sendable {
    let id: Int
    var name: String?
    var email: String?
}
