public import Errand

/// Pins and their comments. Lists begin with the newest, and are read page by page, as far as the caller reads.
extension Pins.Service {
    /// The pins of all users.
    public func pins(from position: PagePosition = .start) -> Items<[Pins.Pin], [Pins.Pin]> {
        client.items(of: .pins("pins"), by: .cursor("max_id", next: \.last?.pinID), from: position)
    }

    /// The pins of a user.
    public func pins(of id: Pins.User.ID, from position: PagePosition = .start) -> Items<[Pins.Pin], [Pins.Pin]> {
        client.items(of: .pins("users/\(id)/pins"), by: .cursor("max_id", next: \.last?.pinID), from: position)
    }

    /// Returns the pin with that number.
    public func pin(_ id: Pins.Pin.ID) async throws(ServiceError) -> Pins.Pin {
        try await client.run(.get("pins/\(id)"))
    }

    /// Pins something to the wall of the signed-in user.
    public func addPin(_ title: String) async throws(ServiceError) -> Pins.Pin {
        try await client.run(.post("pins", body: .json(["title": title])))
    }

    /// Adds a picture to a pin of the signed-in user, or replaces it. The file is read while it is sent.
    public func addPicture(
        _ path: String, to pin: Pins.Pin.ID, onProgress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(ServiceError) -> Pins.Pin {
        let body = RequestBody.multipart { $0.add("picture", file: path) }
        return try await client.run(.post("pins/\(pin)/picture", body: body), onProgress: onProgress)
    }

    /// Removes a pin of the signed-in user, with its comments.
    public func removePin(_ id: Pins.Pin.ID) async throws(ServiceError) {
        try await client.run(.delete("pins/\(id)"))
    }

    /// The comments on a pin.
    public func comments(
        on pin: Pins.Pin.ID, from position: PagePosition = .start
    ) -> Items<[Pins.Comment], [Pins.Comment]> {
        let first = Endpoint<[Pins.Comment]>.get("pins/\(pin)/comments", query: ["count": 20]).unwrapping("comments")
        return client.items(of: first, by: .cursor("max_id", next: \.last?.commentID), from: position)
    }

    /// Adds a comment to a pin.
    public func addComment(_ text: String, to pin: Pins.Pin.ID) async throws(ServiceError) -> Pins.Comment {
        try await client.run(.post("pins/\(pin)/comments", body: .json(["text": text])))
    }

    /// Removes a comment of the signed-in user.
    public func removeComment(_ id: Pins.Comment.ID, from pin: Pins.Pin.ID) async throws(ServiceError) {
        try await client.run(.delete("pins/\(pin)/comments/\(id)"))
    }
}

extension Endpoint where Response == [Pins.Pin] {
    fileprivate static func pins(_ path: EndpointPath) -> Self {
        .get(path, query: ["count": 20]).unwrapping("pins")
    }
}
