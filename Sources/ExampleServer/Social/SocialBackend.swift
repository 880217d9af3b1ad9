/// The friends lists: each user's friends, and their categories.
///
/// | request | parameters | answer |
/// |---|---|---|
/// | `GET friends` | `category`, to list only that one | `[{"id": 2, "email": …, "name": …, "category": …}]` |
/// | `POST friends` | `friend_id`, and optionally `category` | 201 and the friend |
/// | `DELETE friends` | `friend_id` | 204 |
/// | `PUT friends/category` | `friend_ids`, `category`; without it they lose their category | all friends |
/// | `GET friends/categories` | | `["close friends", "family"]` |
///
/// Every request also has `application_token` and `user_id`, the user whose list it is: in the query or in the JSON
/// body. The response is 403 for a wrong application token, a change with a read-only token, and a private list. Other
/// wrong parameters are 422. A list may be kept, and has an `ETag` by which it is confirmed. Errors are
/// `{"message": …, "errors": {"friend_id": […]}}`.
struct SocialBackend: Backend {
    static let prefix = ["social", "api", "v1"]

    private struct Friendship: Sendable {
        var id: Int
        var category: String?
    }

    private var friendships = ExampleData.friends.mapValues { friends in
        friends.map { Friendship(id: $0.id, category: $0.category) }
    }

    mutating func answer(_ request: ExampleRequest) throws(Refusal) -> Answer {
        let user = try user(of: request)
        switch request.route {
        case "GET friends":
            guard user != ExampleData.shyUserID else { throw Refusal(403, "Dan Dyer shows the list to nobody") }
            let list = list(of: user, category: request["category"]?.text)
            return .kept(list, for: request, seconds: 0, group: group(of: user))
        case "GET friends/categories":
            return .json(.array(Set(friends(of: user).compactMap(\.category)).sorted().map { .string($0) }))
        case "POST friends": return try add(to: user, request)
        case "DELETE friends":
            let index = try index(of: request.number("friend_id"), in: user)
            friendships[user]?.remove(at: index)
            return .done.invalidating(group(of: user))
        case "PUT friends/category": return try categorize(for: user, request)
        default: throw .notFound
        }
    }

    func words(for refusal: Refusal) -> JSON {
        guard let field = refusal.field else { return ["message": .string(refusal.message)] }
        return ["message": .string(refusal.message), "errors": [field: [.string(refusal.message)]]]
    }

    /// Returns the user whose list it is, if the application may use it in this way.
    private func user(of request: ExampleRequest) throws(Refusal) -> Int {
        let isChange = !request.route.hasPrefix("GET ")
        switch request["application_token"]?.text {
        case ExampleData.applicationToken: break
        case ExampleData.readingApplicationToken:
            if isChange { throw Refusal(403, "This application may look, and change nothing") }
        case .some: throw Refusal(403, "This application is not known here")
        case nil: throw Refusal(403, "application_token is missing", field: "application_token")
        }
        let user = try request.number("user_id")
        guard Self.profile(of: user) != nil else { throw Refusal(404, "There is no user \(user)", field: "user_id") }
        return user
    }

    private mutating func add(to user: Int, _ request: ExampleRequest) throws(Refusal) -> Answer {
        let id = try request.number("friend_id")
        guard let profile = Self.profile(of: id) else {
            throw Refusal(422, "There is no user \(id)", field: "friend_id")
        }
        guard id != user else { throw Refusal(422, "Nobody is a friend of themselves", field: "friend_id") }
        guard !friends(of: user).contains(where: { $0.id == id }) else {
            throw Refusal(422, "\(profile.name ?? "User \(id)") is a friend already", field: "friend_id")
        }
        let friendship = Friendship(id: id, category: request["category"]?.text)
        friendships[user, default: []].append(friendship)
        return .json(Self.json(of: friendship), status: 201).invalidating(group(of: user))
    }

    /// Changes the category of all the friends, or of none if one of them is unknown.
    private mutating func categorize(for user: Int, _ request: ExampleRequest) throws(Refusal) -> Answer {
        guard let ids = request["friend_ids"]?.elements, !ids.isEmpty else {
            throw Refusal(422, "friend_ids must be a list of friends", field: "friend_ids")
        }
        var indices: [Int] = []
        for id in ids {
            guard let id = id.number else { throw Refusal(422, "A friend is a number", field: "friend_ids") }
            indices.append(try index(of: id, in: user))
        }
        for index in indices { friendships[user]?[index].category = request["category"]?.text }
        return .json(list(of: user, category: nil)).invalidating(group(of: user))
    }

    /// The lists that change together.
    private func group(of user: Int) -> String { "friends of \(user)" }

    private func friends(of user: Int) -> [Friendship] {
        friendships[user] ?? []
    }

    private func index(of id: Int, in user: Int) throws(Refusal) -> Int {
        guard let index = friends(of: user).firstIndex(where: { $0.id == id }) else {
            throw Refusal(404, "User \(id) is no friend", field: "friend_id")
        }
        return index
    }

    private func list(of user: Int, category: String?) -> JSON {
        .array(friends(of: user).filter { category == nil || $0.category == category }.map(Self.json))
    }

    private static func profile(of id: Int) -> ExampleData.User? {
        ExampleData.users.first { $0.id == id }
    }

    private static func json(of friendship: Friendship) -> JSON {
        let user = profile(of: friendship.id)
        return [
            "id": .int(friendship.id), "name": JSON(user?.name), "email": JSON(user?.email),
            "category": JSON(friendship.category),
        ]
    }
}
