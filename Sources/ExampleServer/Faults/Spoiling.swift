import Errand
import ErrandSimulation
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension ExampleServer.Fault {
    /// Returns the response that replaces the correct one, which then is never made; `nil` if the backend is to be
    /// asked.
    func replacement(in backend: any Backend) -> LoopbackReply? {
        switch self {
        case .status(let status, let message): backend.answer(for: Refusal(status, message, code: "fault")).reply
        case .reset: .reset
        case .html: .status(200, headers: ["Content-Type": "text/html; charset=utf-8"], body: Self.page)
        case .slow, .lostAnswer, .brokenJSON, .mislabeled, .elementWithoutID: nil
        }
    }

    /// Applies the fault to the correct response.
    func spoil(_ answer: Answer) -> LoopbackReply {
        var answer = answer
        switch self {
        case .status, .reset, .html: return answer.reply
        case .slow(let pause): return answer.reply.after(pause)
        case .lostAnswer: return .reset
        case .brokenJSON:
            guard let whole = answer.json?.data else { return answer.reply }
            let fields = answer.headers
            return .json(
                String(decoding: whole.prefix(whole.count / 2), as: UTF8.self), status: answer.status, headers: fields)
        case .mislabeled:
            answer.headers["Content-Type"] = "text/html"
            return answer.reply
        case .elementWithoutID:
            answer.json = answer.json?.addingStranger()
            return answer.reply
        }
    }

    private static let page = Data(
        "<!DOCTYPE html><html><head><title>Welcome</title></head><body><h1>Sign in to the network</h1></body></html>\n"
            .utf8)
}

extension Backend {
    /// Converts a refusal into an answer.
    func answer(for refusal: Refusal) -> Answer {
        .json(words(for: refusal), status: refusal.status, headers: refusal.headers)
    }
}

extension JSON {
    /// A copy with an additional element without an id, in the list or in the first list among the members. The element
    /// is the second one, with valid elements before and after it.
    fileprivate func addingStranger() -> JSON {
        switch self {
        case .array(var elements):
            elements.insert(["name": "Nobody", "title": "Nothing"], at: min(1, elements.count))
            return .array(elements)
        case .object(var members):
            let lists = members.filter { $0.value.elements != nil }
            guard let (name, list) = lists.min(by: { $0.key < $1.key }) else { return self }
            members[name] = list.addingStranger()
            return .object(members)
        case .null, .bool, .int, .double, .string: return self
        }
    }
}
