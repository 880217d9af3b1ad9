import Errand
import ErrandSimulation
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A request as a backend sees it: the parsed path below the backend's prefix, the parameters and the time of arrival.
struct ExampleRequest: Sendable {
    /// The request as it came.
    let original: LoopbackRequest
    /// The method and the path, with `#` in place of each number: `PUT users/#/follow`.
    let route: String
    /// The numbers in the path.
    let ids: [Int]
    let query: [String: String]
    let headers: HTTPHeaders
    let body: Data
    let now: Instant
    let date: Date
    /// The JSON body; null if the body is not JSON.
    let json: JSON

    /// Parses a request with the remaining path segments; refuses a body that is declared as JSON but is not valid
    /// JSON.
    init(_ request: LoopbackRequest, segments: ArraySlice<String>, time: any TimeSource) throws(Refusal) {
        // `#` stands for a number in a route.
        guard !segments.contains(where: { $0.contains("#") || $0.contains("/") }) else { throw .notFound }
        original = request
        ids = segments.compactMap { Int($0) }
        route = "\(request.method) " + segments.map { Int($0) == nil ? $0 : "#" }.joined(separator: "/")
        query = Dictionary(request.query.map { ($0.name, $0.value) }) { first, _ in first }
        headers = request.headers
        body = request.body
        now = time.now
        date = time.date
        guard !body.isEmpty, headers["Content-Type"]?.contains("json") == true else {
            json = .null
            return
        }
        // The reason why it is not JSON is not needed here.
        guard let value = try? JSONDecoder().decode(JSON.self, from: body) else {
            throw Refusal(400, "The body is not JSON", code: "invalid_request")
        }
        json = value
    }

    /// The parameter of that name, in the query or in the JSON body. An empty parameter counts as missing.
    subscript(_ name: String) -> JSON? {
        if let text = query[name] { return text.isEmpty ? nil : .string(text) }
        guard let value = json[name], value.text != "" else { return nil }
        return value
    }

    /// Returns the text of a required parameter.
    func text(_ name: String, or status: Int = 422) throws(Refusal) -> String {
        guard let text = self[name]?.text else { throw Refusal(status, "\(name) is missing", field: name) }
        return text
    }

    /// Returns the number of a required parameter.
    func number(_ name: String) throws(Refusal) -> Int {
        guard let value = self[name] else { throw Refusal(422, "\(name) is missing", field: name) }
        guard let number = value.number else { throw Refusal(422, "\(name) must be a number", field: name) }
        return number
    }

    /// Returns the credentials after the scheme in `Authorization`; schemes are compared case-insensitively.
    func credentials(_ scheme: String) -> String? {
        guard let field = headers["Authorization"], let space = field.firstIndex(of: " "),
            field[..<space].lowercased() == scheme.lowercased()
        else { return nil }
        return String(field[field.index(after: space)...])
    }
}
