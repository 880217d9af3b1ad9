import Errand

/// A rule for the response to some requests.
struct LoopbackRoute: Sendable {
    enum Answer: Sendable {
        case handler(LoopbackHandler<LoopbackRequest, LoopbackReply>)
        case early(LoopbackHandler<LoopbackRequest, LoopbackReply?>)
        case replies([LoopbackReply])
    }

    /// The method; `nil` for any.
    var method: HTTPMethod?
    /// The path, or the path and the query; `nil` for any.
    var path: String?
    var answer: Answer

    func matches(_ request: LoopbackRequest, path: String) -> Bool {
        guard method == nil || method == request.method else { return false }
        return self.path == nil || self.path == path || self.path == request.target
    }

    /// Takes the next reply; `nil` if they are used up.
    mutating func nextReply() -> LoopbackReply? {
        guard case .replies(var replies) = answer else { return nil }
        // A reply for zero requests is never used.
        replies.removeAll { reply in reply.count.map { $0 <= 0 } ?? false }
        guard let reply = replies.first else { return nil }
        if let count = reply.count { replies[0].count = count - 1 }
        answer = .replies(replies)
        return reply
    }
}

extension [LoopbackRoute] {
    /// Returns the handler to call before the body has arrived; `nil` if there is none.
    func early(_ request: LoopbackRequest) -> LoopbackHandler<LoopbackRequest, LoopbackReply?>? {
        let path = request.path
        for route in self {
            if case .early(let handler) = route.answer, route.matches(request, path: path) { return handler }
        }
        return nil
    }

    /// Returns the handler for the whole request; `nil` if there is none. Uses up a reply of a list.
    mutating func answer(_ request: LoopbackRequest) -> LoopbackHandler<LoopbackRequest, LoopbackReply>? {
        let path = request.path
        for index in indices where self[index].matches(request, path: path) {
            if case .handler(let handler) = self[index].answer { return handler }
            if let reply = self[index].nextReply() { return .synchronous { _ in reply } }
        }
        return nil
    }
}
