import Errand
import ErrandTesting
import FoundationEssentials

/// A page of the lists in these tests.
struct Feed: Codable, Sendable, Equatable {
    var items: [Int] = []
    var total: Int?
    var cursor: String?
    var next: String?
}

extension Endpoint where Response == Feed {
    static var feed: Self { .get("feed", query: ["sort": "new"]) }
}

/// How reading a list ended: the elements, and the error if there was one.
struct Reading<Element: Sendable>: Sendable {
    var had: [Element] = []
    var error: PagingError?

    init(
        _ list: some AsyncSequence<Element, PagingError> & Sendable,
        afterEach body: (Element) -> Void = { (_: Element) in }
    ) async {
        do {
            for try await element in list {
                had.append(element)
                body(element)
            }
        } catch {
            self.error = error
        }
    }

    var fault: PagingFault.Kind? {
        guard case .paging(let fault) = error?.error else { return nil }
        return fault.kind
    }
}

extension ScriptedTransport {
    /// Scripts a page as the response to a path and query.
    func page(_ target: String, _ feed: Feed, headers: HTTPHeaders = [:]) {
        var reply = ScriptedReply.encoding(feed)
        if !headers.fields.isEmpty { reply = .json(#"{"items": [0]}"#, headers: headers) }
        on(.get, target, reply)
    }

    /// The path and the query of each request.
    var targets: [String] { sent.map(\.request.url.target) }
}
