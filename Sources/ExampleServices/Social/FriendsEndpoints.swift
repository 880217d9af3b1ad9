import Errand

extension Endpoint where Response == LossyList<Social.User> {
    static var friends: Self { .get("friends") }

    static func friends(in category: Social.Category) -> Self {
        .get("friends", query: ["category": category.rawValue])
    }

    static func put(_ ids: [Social.User.ID], into category: Social.Category) -> Self {
        Endpoint(.put, "friends/category", parameters: ["friend_ids": ids, "category": category.rawValue])
    }
}

extension Endpoint where Response == Social.User {
    static func addFriend(_ id: Social.User.ID) -> Self {
        Endpoint(.post, "friends", parameters: ["friend_id": id])
    }
}

extension Endpoint where Response == NoContent {
    static func removeFriend(_ id: Social.User.ID) -> Self {
        Endpoint(.delete, "friends", parameters: ["friend_id": id])
    }
}
