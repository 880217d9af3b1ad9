import Errand

extension Endpoint where Response == LossyList<Social.User> {
    /// The friends of `user`, or of the client's user: the endpoint's own `user_id` replaces the client's.
    static func friends(of user: Social.User.ID? = nil, in category: Social.Category? = nil) -> Self {
        Endpoint(.get, "friends", parameters: ["user_id": user, "category": category?.rawValue])
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
