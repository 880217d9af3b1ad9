#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A server's description of an error, in any of the usual JSON formats. Members of other types are ignored.
struct ErrorBody {
    /// The size limit, 1 MiB: a longer error page is not parsed for a message.
    private static let largestBody = 1 << 20
    private static let longestMessage = 500
    private static let longestName = 200
    /// More would not fit on a screen.
    private static let mostFields = 100

    private(set) var message: String?
    private(set) var code: String?
    private(set) var fieldErrors: [String: [String]] = [:]

    /// Parses a body. The texts are cut, and have no secrets and no control characters.
    init(_ body: Data, redactor: Redactor) {
        guard body.count <= Self.largestBody, body.contains(UInt8(ascii: "{")),
            // A body that is not a JSON object has no message; the status has to do.
            let shape = try? FastJSONDecoder().decode(Shape.self, from: body)
        else { return }
        func clean(_ text: String, _ length: Int) -> String {
            redactor.beginning(of: text.utf8, length: length).text
        }
        message = shape.message.map { clean($0, Self.longestMessage) }
        code = shape.code.map { clean($0, Self.longestName) }
        // A server may repeat what was sent in the name of a field too.
        let fields = shape.fieldErrors.prefix(Self.mostFields).map { name, texts in
            (clean(name, Self.longestName), texts.prefix(Self.mostFields).map { clean($0, Self.longestMessage) })
        }
        fieldErrors = Dictionary(fields) { $0 + $1 }
    }

    private struct Shape: Decodable {
        var message: String?
        var code: String?
        var type: String?
        var fieldErrors: [String: [String]] = [:]

        private enum Key: String, CodingKey {
            case message, error, detail, title, errors, code, field, param, type
            case errorDescription = "error_description"
            case statusMessage = "status_message"
            case statusCode = "status_code"
        }

        init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: Key.self)
            let nested = members.lenient(Shape.self, .error)
            let list = members.lenient([Lenient<ListedError>].self, .errors)?.compactMap(\.value) ?? []
            code = members.text(.code)
            message =
                members.text(.message) ?? members.text(.errorDescription) ?? members.text(.error) ?? nested?.message
                ?? members.text(.detail) ?? members.text(.title) ?? list.first { $0.message != nil }?.message
                ?? members.text(.statusMessage)
            if let error = members.text(.error), error != message || code == nil { code = code ?? error }
            // The type of a nested error is its kind; at the top level it is the URL of a description.
            code = code ?? nested?.code ?? nested?.type ?? members.text(.statusCode)
            type = members.text(.type)
            fieldErrors = nested?.fieldErrors ?? [:]
            if let field = members.text(.param), let text = message ?? code { fieldErrors[field] = [text] }
            for error in list {
                if let field = error.field, let text = error.message ?? error.code {
                    fieldErrors[field, default: []].append(text)
                }
            }
            for (field, texts) in members.lenient([String: Lenient<Texts>].self, .errors) ?? [:] {
                if let texts = texts.value?.texts, !texts.isEmpty { fieldErrors[field] = texts }
            }
        }
    }

    /// An element of `errors`: a text, or an object with one.
    private struct ListedError: Decodable {
        var message: String?
        var code: String?
        var field: String?

        private enum Key: String, CodingKey {
            case message, detail, title, field, code
        }

        init(from decoder: any Decoder) throws {
            // An element that is not text is decoded as an object.
            if let text = try? decoder.singleValueContainer().decode(String.self) {
                message = text
                return
            }
            let members = try decoder.container(keyedBy: Key.self)
            message = members.text(.message) ?? members.text(.detail) ?? members.text(.title)
            code = members.text(.code)
            field = members.text(.field)
        }
    }

    private struct Texts: Decodable {
        var texts: [String]

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            // A text or a list of texts.
            texts = try (try? container.decode([String].self)) ?? [container.decode(String.self)]
        }
    }

    /// A value; `nil` if it has another type.
    private struct Lenient<Value: Decodable>: Decodable {
        var value: Value?

        init(from decoder: any Decoder) throws {
            // A value of another type counts as missing.
            value = try? Value(from: decoder)
        }
    }
}

extension KeyedDecodingContainer {
    /// Returns the text of that member, or its number as text; `nil` if it is empty or anything else.
    fileprivate func text(_ key: Key) -> String? {
        let text = lenient(String.self, key) ?? lenient(Int.self, key).map(String.init)
        return text?.isEmpty == false ? text : nil
    }

    fileprivate func lenient<Value: Decodable>(_ type: Value.Type, _ key: Key) -> Value? {
        // A member of another type counts as missing: the status still says what happened.
        try? decodeIfPresent(type, forKey: key)
    }
}
