/// A part of a list, newest entry (highest id) first: the entries below `max_id`, at most `count`.
struct ListPage: Sendable {
    private static let usual = 20
    private static let largest = 100

    private let limit: Int
    private let end: Int

    /// Reads `max_id` and `count`, which is 20 by default and at most 100.
    init(_ request: ExampleRequest) throws(Refusal) {
        limit = try min(Self.number("count", request) ?? Self.usual, Self.largest)
        end = try Self.number("max_id", request) ?? .max
    }

    private static func number(_ name: String, _ request: ExampleRequest) throws(Refusal) -> Int? {
        guard let text = request.query[name] else { return nil }
        guard let number = Int(text), number > 0 else { throw .invalid("\(name) must be a number above 0") }
        return number
    }

    /// Returns the answer, with the list under that key. `next_max_id` is the `max_id` of the next part, or null at the
    /// end.
    func answer(_ key: String, _ ids: some Sequence<Int>, _ json: (Int) -> JSON) -> Answer {
        let left = ids.filter { $0 < end }.sorted(by: >)
        let shown = left.prefix(limit)
        let next = shown.count < left.count ? shown.last.map { JSON.int($0) } : nil
        return .json([key: .array(shown.map(json)), "next_max_id": next ?? .null])
    }
}
