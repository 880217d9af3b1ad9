import Errand

// The model and the endpoints that the samples share.

struct User: Codable, Identifiable, Sendable, Equatable {
    var id: Int
    var name: String
}

extension Endpoint where Response == [User] {
    static func friends(of id: User.ID) -> Self {
        .get("users/\(id)/friends", query: ["sort": "name"]).unwrapping("users")
    }
}

extension Endpoint where Response == [User] {
    static var friends: Self { .get("friends") }
}

extension Endpoint where Response == User {
    static func signUp(_ name: String) -> Self {
        .post("users", body: .json(["name": name])).authentication(.none)
    }
}

extension Endpoint where Response == User {
    static func invite(_ name: String) -> Self {
        .post("friends", body: .json(["name": name])).idempotencyKey(.unique)
    }
}
