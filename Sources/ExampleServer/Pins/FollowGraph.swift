#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The users of Pins, and who follows whom.
struct FollowGraph: Sendable {
    /// The ids that each user follows.
    private var followed: [Int: Set<Int>] = [1: [2, 3, 6], 2: [1], 6: [1, 2]]
    private let names: [Int: (user: String, full: String?)]

    init() {
        var names: [Int: (user: String, full: String?)] = [:]
        for user in ExampleData.users {
            let account = ExampleData.accounts.first { $0.id == user.id }
            names[user.id] = (account?.userName ?? "user\(user.id)", user.name)
        }
        for id in ExampleData.readers {
            names[id] = ("reader\(id)", nil)
            followed[id] = [ExampleData.ann.id]
        }
        self.names = names
    }

    /// Returns the id if the user exists.
    func known(_ id: Int?) throws(Refusal) -> Int {
        guard let id, names[id] != nil else { throw .notFound }
        return id
    }

    func following(_ id: Int) -> Set<Int> { followed[id] ?? [] }

    func followers(_ id: Int) -> [Int] { followed.filter { $0.value.contains(id) }.map(\.key) }

    /// Follows a user. A second call changes nothing.
    mutating func follow(_ other: Int, by user: Int) throws(Refusal) {
        guard other != user else { throw Refusal(422, "Nobody follows themselves", code: "invalid_request") }
        followed[user, default: []].insert(other)
    }

    /// Unfollows a user. A second call changes nothing.
    mutating func unfollow(_ other: Int, by user: Int) {
        followed[user]?.remove(other)
    }

    /// Returns a user as others see them.
    func json(of id: Int) -> JSON {
        [
            "user_id": .int(id), "user_name": JSON(names[id]?.user), "full_name": JSON(names[id]?.full),
            "created_at": .string(Date(timeIntervalSince1970: 1_400_000_000 + Double(id) * 3600).inJSON),
            "nav_link": "/users/\(id)", "follower_count": .int(followers(id).count),
            "following_count": .int(following(id).count),
        ]
    }
}

extension Date {
    /// The date as it is written in JSON: `2014-05-13T17:53:20Z`.
    var inJSON: String { ISO8601Format() }
}
