public import Errand

/// Pins and their comments.
extension Pins.Service {
    /// Returns the pins of a user, the newest first.
    public func pins(of id: Pins.User.ID) async throws(ServiceError) -> [Pins.Pin] {
        try await client.run(.get("users/\(id)/pins").unwrapping("pins"))
    }

    /// Pins something to the wall of the signed-in user.
    public func pin(_ title: String) async throws(ServiceError) -> Pins.Pin {
        try await client.run(.post("pins", body: .json(["title": title])))
    }

    /// Removes a pin of the signed-in user.
    public func remove(_ pin: Pins.Pin.ID) async throws(ServiceError) {
        try await client.run(Endpoint<NoContent>.delete("pins/\(pin)"))
    }

    /// Returns the comments on a pin, the newest first.
    public func comments(on pin: Pins.Pin.ID) async throws(ServiceError) -> [Pins.Comment] {
        try await client.run(.get("pins/\(pin)/comments").unwrapping("comments"))
    }

    /// Adds a comment to a pin.
    public func comment(_ text: String, on pin: Pins.Pin.ID) async throws(ServiceError) -> Pins.Comment {
        try await client.run(.post("pins/\(pin)/comments", body: .json(["text": text])))
    }
}
