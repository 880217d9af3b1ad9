import ErrandSimulation
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The pins and their comments. A new pin or comment gets the next number: numbers are never reused.
struct PinBoard: Sendable {
    private struct Pin: Sendable {
        var user: Int
        var title: String
        var created: Date
        /// The picture as JSON; its content is not kept.
        var picture = JSON.null
    }

    private struct Comment: Sendable {
        var pin: Int
        var user: Int
        var text: String
        var created: Date
    }

    private var pins: [Int: Pin] = [:]
    private var comments: [Int: Comment] = [:]
    private var lastPin = 0
    private var lastComment = 0

    init() {
        for (index, title) in ExampleData.pinTitles.enumerated() {
            let date = Date(timeIntervalSince1970: 1_700_000_000 + Double(index) * 86_400)
            _ = add(title, by: 1 + index % 2, at: date)
        }
        for (index, text) in ExampleData.comments.enumerated() {
            _ = comment(text, on: 1, by: 2 + index, at: Date(timeIntervalSince1970: 1_701_000_000 + Double(index) * 60))
        }
    }

    /// Returns the ids of all pins, or of the pins of one user.
    func pins(of user: Int? = nil) -> [Int] {
        pins.filter { user == nil || $0.value.user == user }.map(\.key)
    }

    func comments(on pin: Int) -> [Int] {
        comments.filter { $0.value.pin == pin }.map(\.key)
    }

    /// Returns the id if the pin exists.
    func known(_ id: Int?) throws(Refusal) -> Int {
        guard let id, pins[id] != nil else { throw .notFound }
        return id
    }

    mutating func add(_ title: String, by user: Int, at date: Date) -> Int {
        lastPin += 1
        pins[lastPin] = Pin(user: user, title: title, created: date)
        return lastPin
    }

    /// Adds a picture to a pin, or replaces it.
    mutating func setPicture(_ part: SentPart, of id: Int, by user: Int) throws(Refusal) {
        guard pins[id]?.user == user else { throw .notYours }
        pins[id]?.picture = [
            "name": JSON(part.filename), "type": JSON(part.type), "bytes": .int(part.content?.count ?? 0),
        ]
    }

    /// Removes a pin and its comments.
    mutating func remove(_ id: Int, by user: Int) throws(Refusal) {
        guard pins[id]?.user == user else { throw .notYours }
        pins[id] = nil
        comments = comments.filter { $0.value.pin != id }
    }

    mutating func comment(_ text: String, on pin: Int, by user: Int, at date: Date) -> Int {
        lastComment += 1
        comments[lastComment] = Comment(pin: pin, user: user, text: text, created: date)
        return lastComment
    }

    mutating func removeComment(_ id: Int, on pin: Int, by user: Int) throws(Refusal) {
        guard let comment = comments[id], comment.pin == pin else { throw .notFound }
        guard comment.user == user else { throw .notYours }
        comments[id] = nil
    }

    /// Returns a pin with its user.
    func json(ofPin id: Int, _ people: FollowGraph) -> JSON {
        guard let pin = pins[id] else { return .null }
        return [
            "pin_id": .int(id), "user_id": .int(pin.user), "title": .string(pin.title),
            "created_at": .string(pin.created.inJSON), "nav_link": "/pins/\(id)",
            "comment_count": .int(comments(on: id).count), "picture": pin.picture, "user": people.json(of: pin.user),
        ]
    }

    /// Returns a comment with its user.
    func json(ofComment id: Int, _ people: FollowGraph) -> JSON {
        guard let comment = comments[id] else { return .null }
        return [
            "comment_id": .int(id), "pin_id": .int(comment.pin), "user_id": .int(comment.user),
            "text": .string(comment.text), "created_at": .string(comment.created.inJSON),
            "nav_link": "/pins/\(comment.pin)/comments/\(id)", "user": people.json(of: comment.user),
        ]
    }
}

extension Refusal {
    /// The refusal for a change to something that belongs to another user.
    fileprivate static let notYours = Refusal(403, "That belongs to somebody else", code: "forbidden")
}
