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
        case file(FilePlace)
        case multipart([SentPart])
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

    /// Creates a body with exactly the content of the file at that path.
    public static func file(_ path: String) -> ExpectedBody {
        ExpectedBody(content: .file(.path(path)))
    }

    /// Creates a body with exactly the content of the file at that URL.
    public static func file(_ url: URL) -> ExpectedBody {
        ExpectedBody(content: .file(.url(url)))
    }

    /// Creates a form of text, data and files. The order of its parts and the boundary between them do not matter, and
    /// a stream in it may have any content.
    ///
    ///     network.on(.post, "/photos", body: .multipart { $0.add("photo", file: "sunset.jpg") }, .status(201))
    public static func multipart(_ fill: (inout MultipartForm) -> Void) -> ExpectedBody {
        var form = MultipartForm()
        fill(&form)
        return ExpectedBody(content: .multipart(form.parts.map(SentPart.init(expected:))))
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
        case .data(let expected): return Self.difference(expected, sent)
        case .file(let place):
            guard let path = try? place.path, let expected = try? Data(contentsOf: URL(filePath: path)) else {
                return Difference(.body, ["the script's file \(place), which cannot be read"], [])
            }
            return Self.difference(expected, sent)
        case .multipart(let expected):
            guard let actual = SentPart.parts(of: sent) else {
                let form = "a form of \(expected.count) part\(expected.count == 1 ? "" : "s")"
                return Difference(.body, [form], [Self.summary(of: sent, redactor)])
            }
            return MultipartComparison(redactor: redactor).difference(expected, actual)
        }
    }

    private static func difference(_ expected: Data, _ sent: Data) -> Difference? {
        guard expected != sent else { return nil }
        let first = expected.firstDifference(from: sent)
        return Difference(
            .body, ["\(expected.count) bytes"], ["\(sent.count) bytes, which differ from byte \(first) on"])
    }

    /// The body as one line.
    private static func summary(of body: Data, _ redactor: Redactor) -> String {
        guard !body.isEmpty else { return "no body" }
        guard let text = String(validating: body, as: UTF8.self) else { return "\(body.count) bytes" }
        return JSONComparison.quoted(redactor.text(String(text.prefix(1000)))).shortened
    }
}

extension Data {
    /// The number of bytes at the beginning that are the same in both.
    func firstDifference(from other: Data) -> Int {
        zip(self, other).enumerated().first { $0.element.0 != $0.element.1 }?.offset ?? Swift.min(count, other.count)
    }
}

extension JSONValue {
    /// Reads JSON; `nil` if it is not valid.
    init?(reading data: Data) {
        guard let value = try? JSONDecoder().decode(JSONValue.self, from: data) else { return nil }
        self = value
    }
}
