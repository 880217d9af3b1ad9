public import Errand
#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The body that a script expects.
///
///     network.on(.post, "/friends", body: .json(["name": "Ann"]), .status(201))
///     network.on(.post, "/token", body: .form(["grant_type": "client_credentials"]), .json(#"{"access_token": "a"}"#))
public struct ExpectedBody: Sendable {
    private enum Content: Sendable {
        /// `nil` if the text of the script is no JSON.
        case json(JSONValue?)
        case form(Fields)
        case text(String)
        case data(Data)
    }

    private let content: Content

    /// Creates a body with that JSON text. The order of members, whitespace and the spelling of numbers do not matter.
    public static func json(_ text: String) -> ExpectedBody {
        ExpectedBody(content: .json(JSONValue(reading: Data(text.utf8))))
    }

    /// Creates a body with that JSON value.
    public static func json(_ value: JSONValue) -> ExpectedBody {
        ExpectedBody(content: .json(value))
    }

    /// Creates a body with that value, encoded as JSON.
    public static func encoding(_ value: some Encodable) -> ExpectedBody {
        ExpectedBody(content: .json((try? JSONEncoder().encode(value)).flatMap { JSONValue(reading: $0) }))
    }

    /// Creates a form with those fields. Their order does not matter.
    public static func form(_ fields: QueryItems) -> ExpectedBody {
        ExpectedBody(content: .form(Fields(query: fields.encoded[...])))
    }

    /// Creates a body with exactly that text.
    public static func text(_ text: String) -> ExpectedBody {
        ExpectedBody(content: .text(text))
    }

    /// Creates a body with exactly those bytes.
    public static func data(_ data: Data) -> ExpectedBody {
        ExpectedBody(content: .data(data))
    }

    /// Returns how a request's body differs from this one; `nil` if it does not.
    func difference(from sent: Data, redactor: Redactor) -> Difference? {
        switch content {
        case .json(nil):
            return Difference(.body, ["the script's body, which is not valid JSON"], [])
        case .json(let expected?):
            guard let actual = JSONValue(reading: sent) else {
                return Difference(.body, ["JSON"], [Self.summary(of: sent, redactor)])
            }
            var comparison = JSONComparison(redactor: redactor)
            comparison.compare(expected, actual)
            return comparison.difference
        case .form(let fields):
            let actual = Fields(form: String(decoding: sent, as: UTF8.self))
            return fields.difference(from: actual, as: .body, redactor: redactor)
        case .text(let expected):
            guard Data(expected.utf8) != sent else { return nil }
            return Difference(.body, [JSONComparison.quoted(expected).shortened], [Self.summary(of: sent, redactor)])
        case .data(let expected):
            guard expected != sent else { return nil }
            let place = zip(expected, sent).enumerated().first { $0.element.0 != $0.element.1 }?.offset
            let first = place ?? min(expected.count, sent.count)
            return Difference(
                .body, ["\(expected.count) bytes"], ["\(sent.count) bytes, which differ from byte \(first) on"])
        }
    }

    /// The body as one line.
    private static func summary(of body: Data, _ redactor: Redactor) -> String {
        guard !body.isEmpty else { return "no body" }
        guard let text = String(validating: body, as: UTF8.self) else { return "\(body.count) bytes" }
        return JSONComparison.quoted(redactor.text(String(text.prefix(1000)))).shortened
    }
}

extension JSONValue {
    /// Reads JSON; `nil` if it is not valid.
    init?(reading data: Data) {
        guard let value = try? JSONDecoder().decode(JSONValue.self, from: data) else { return nil }
        self = value
    }
}
