import Errand

extension Endpoint where Response == LossyList<Friend> {
    static var myFriends: Self { .get("friends") }

    static func myFriends(in category: String) -> Self {
        .get("friends", query: ["category": category])
    }
}
