#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What a server says about an error, in whichever of the usual shapes of JSON it says it. Members of other types are
/// passed over.
struct ErrorBody {
    /// A page of an error is not read to the end for a sentence.
    private static let largestBody = 1 << 20
    private static let longestMessage = 500
    private static let longestName = 200
    /// More would fit no screen.
    private static let mostFields = 100

    private(set) var message: String?
    private(set) var code: String?
    private(set) var fieldErrors: [String: [String]] = [:]

    /// Reads a body. What is kept is cut first, and comes without secrets and control characters.
    init(_ body: Data, redactor: Redactor) {
        guard body.count <= Self.largestBody, body.contains(UInt8(ascii: "{")),
            // A body that is no JSON object has no words to take over; the status says it all.
            let shape = try? JSONDecoder().decode(Shape.self, from: body)
        else { return }
        func clean(_ text: String, _ length: Int) -> String {
            redactor.beginning(of: text.utf8, length: length).text
        }
        message = shape.message.map { clean($0, Self.longestMessage) }
        code = shape.code.map { clean($0, Self.longestName) }
        // A server may repeat what was sent as the name of a field too.
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
            // Of an error within an error the type is its kind; on the outside it is the URL of a description.
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

    /// An element of `errors`: a sentence, or an object that has one.
    private struct ListedError: Decodable {
        var message: String?
        var code: String?
        var field: String?

        private enum Key: String, CodingKey {
            case message, detail, title, field, code
        }

        init(from decoder: any Decoder) throws {
            // What is no sentence is looked at as an object.
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
            // One sentence or a list of them.
            texts = try (try? container.decode([String].self)) ?? [container.decode(String.self)]
        }
    }

    /// A value, or nothing where it is of another type.
    private struct Lenient<Value: Decodable>: Decodable {
        var value: Value?

        init(from decoder: any Decoder) throws {
            // Of another type: as good as not there.
            value = try? Value(from: decoder)
        }
    }
}

extension KeyedDecodingContainer {
    /// The text of that member, or its number as text; `nil` if it is empty or anything else.
    fileprivate func text(_ key: Key) -> String? {
        let text = lenient(String.self, key) ?? lenient(Int.self, key).map(String.init)
        return text?.isEmpty == false ? text : nil
    }

    fileprivate func lenient<Value: Decodable>(_ type: Value.Type, _ key: Key) -> Value? {
        // A member of another type is as good as none: the status still tells what happened.
        try? decodeIfPresent(type, forKey: key)
    }
}
