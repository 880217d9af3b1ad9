import Errand

extension Endpoint where Response == LossyList<Friend> {
    static var myFriends: Self { .get("friends") }

    static func myFriends(in category: String) -> Self {
        .get("friends", query: ["category": category])
    }

    static func put(_ ids: [Friend.ID], into category: String) -> Self {
        Endpoint(.put, "friends/category", parameters: ["friend_ids": ids, "category": category])
    }
}

extension Endpoint where Response == Friend {
    static func addFriend(_ id: Friend.ID) -> Self {
        Endpoint(.post, "friends", parameters: ["friend_id": id])
    }
}

extension Endpoint where Response == NoContent {
    static func removeFriend(_ id: Friend.ID) -> Self {
        Endpoint(.delete, "friends", parameters: ["friend_id": id])
    }
}
