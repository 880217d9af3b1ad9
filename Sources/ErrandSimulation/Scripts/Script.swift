import Errand

/// The replies of one call of `on`, and the requests they are for.
struct Script: Sendable {
    let expected: ExpectedRequest
    let location: TestFailure.Location
    private var replies: [ScriptedReply]
    /// The number of requests that have received a reply.
    private var used = 0

    init(_ expected: ExpectedRequest, _ replies: [ScriptedReply], at location: TestFailure.Location) {
        self.expected = expected
        self.location = location
        // A reply for zero requests is never used, and never missed.
        self.replies = replies.filter { reply in reply.count.map { $0 > 0 } ?? true }
    }

    /// Whether no reply is left.
    var isUsedUp: Bool { replies.isEmpty }

    /// Returns whether the request is expected and a reply is left for it.
    func responds(to sent: ScriptedTransport.Sent) -> Bool {
        !isUsedUp && expected.matches(sent)
    }

    /// Takes the next reply.
    mutating func next() -> ScriptedReply {
        used += 1
        let reply = replies[0]
        guard let count = reply.count else { return reply }
        if count > 1 { replies[0].count = count - 1 } else { replies.removeFirst() }
        return reply
    }

    /// The number of replies that must still be used.
    private var left: Int { replies.reduce(0) { $0 + ($1.count ?? 0) } }

    /// How often the script has been used: `used 1 of 3 times`.
    var usage: String {
        guard replies.contains(where: { $0.count == nil }) else { return "used \(used) of \(used + left) times" }
        return used == 1 ? "used once" : "used \(used) times"
    }

    /// The failure of a script whose replies were not all used; `nil` if they were.
    var unused: TestFailure? {
        guard left > 0 else { return nil }
        let isEndless = replies.contains { $0.count == nil }
        return TestFailure(
            "\(self) has been \(usage)\(isEndless ? "; it expects \(left) requests more" : "").", at: location)
    }
}

extension Script: CustomStringConvertible {
    var description: String { "The script for \(expected) at \(location)" }
}
