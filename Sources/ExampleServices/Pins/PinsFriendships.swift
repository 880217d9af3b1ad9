public import Errand

/// Who follows whom.
extension Pins.Service {
    /// Follows a user.
    public func follow(_ id: Pins.User.ID) async throws(ServiceError) {
        try await client.run(Endpoint<NoContent>.put("users/\(id)/follow"))
    }

    /// Unfollows a user.
    public func unfollow(_ id: Pins.User.ID) async throws(ServiceError) {
        try await client.run(Endpoint<NoContent>.delete("users/\(id)/follow"))
    }

    /// The followers of a user, page by page, as far as the caller reads.
    public func followers(of id: Pins.User.ID, from position: PagePosition = .start) -> Items<[Pins.User], [Pins.User]>
    {
        client.items(of: .users("users/\(id)/followers"), by: .cursor("max_id", next: \.last?.userID), from: position)
    }

    /// The users that a user follows, page by page, as far as the caller reads.
    public func following(of id: Pins.User.ID, from position: PagePosition = .start) -> Items<[Pins.User], [Pins.User]>
    {
        client.items(of: .users("users/\(id)/following"), by: .cursor("max_id", next: \.last?.userID), from: position)
    }
}

extension Endpoint where Response == [Pins.User] {
    fileprivate static func users(_ path: EndpointPath) -> Self {
        .get(path, query: ["count": 20]).unwrapping("users")
    }
}
