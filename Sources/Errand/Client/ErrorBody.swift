import ErrandJSON
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A server's description of an error, in any of the usual JSON formats. Members of other types are ignored.
struct ErrorBody {
    /// The size limit, 1 MiB: a longer error page is not parsed for a message.
    static let largestBody = 1 << 20
    private static let longestMessage = 500
    private static let longestName = 200
    /// More would not fit on a screen.
    fileprivate static let mostFields = 100

    private(set) var message: String?
    private(set) var code: String?
    private(set) var fieldErrors: [String: [String]] = [:]

    /// Parses a body. The texts are cut, and have no secrets and no control characters.
    init(_ body: Data, redactor: Redactor) {
        let isRead = body.count <= Self.largestBody && body.contains(UInt8(ascii: "{"))
        // A body that is not a JSON object has no message; the status has to do.
        self.init(isRead ? try? FastJSONDecoder().read(body) { Shape($0) } : nil, redactor: redactor)
    }

    /// Parses the response of a GraphQL API; `nil` if it has no errors.
    init?(ofGraphQL body: Data, redactor: () -> Redactor) {
        // A body that is not JSON fails when it is decoded, and that error says why.
        guard let shape = try? FastJSONDecoder().read(body, { Shape(errorsOf: $0) }) else { return nil }
        self.init(shape, redactor: redactor())
    }

    private init(_ shape: Shape?, redactor: Redactor) {
        guard let shape else { return }
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
}

private enum Key: String {
    case message, error, detail, title, errors, code, field, param, type, path, extensions
    case errorDescription = "error_description"
    case statusMessage = "status_message"
    case statusCode = "status_code"
}

/// What the members of an error's object say.
private struct Shape {
    /// An error in an error in an error is all that servers send.
    private static let deepest = 8

    private(set) var message: String?
    private(set) var code: String?
    private var type: String?
    private(set) var fieldErrors: [String: [String]] = [:]

    /// Reads only the errors, because the data is beside them; `nil` if there are none.
    init?(errorsOf node: JSONNode) {
        let list = node.members[.errors]?.listedErrors ?? []
        guard let first = list.first(where: { $0.message != nil }) ?? list.first else { return nil }
        (message, code) = (first.message, first.code)
        readFields(of: list)
    }

    init(_ node: JSONNode, depth: Int = 0) {
        let members = node.members
        let nested = depth < Self.deepest ? members[.error].map { Shape($0, depth: depth + 1) } : nil
        let list = members[.errors]?.listedErrors ?? []
        code = members.words(.code)
        message = members.words(.message, .errorDescription, .error) ?? nested?.message
        message = message ?? members.words(.detail, .title) ?? list.first { $0.message != nil }?.message
        message = message ?? members.words(.statusMessage)
        if let error = members.words(.error), error != message || code == nil { code = code ?? error }
        // The type of a nested error is its kind; at the top level it is the URL of a description.
        code = code ?? nested?.code ?? nested?.type ?? members.words(.statusCode)
        type = members.words(.type)
        fieldErrors = nested?.fieldErrors ?? [:]
        if let field = members.words(.param), let text = message ?? code { fieldErrors[field] = [text] }
        readFields(of: list)
        for (field, texts) in members[.errors]?.listedTexts ?? [:] where !texts.isEmpty { fieldErrors[field] = texts }
    }

    private mutating func readFields(of list: [ListedError]) {
        for error in list {
            if let field = error.field, let text = error.message ?? error.code {
                fieldErrors[field, default: []].append(text)
            }
        }
    }
}

/// An element of `errors`: a text, or an object with one.
private struct ListedError {
    var message: String?
    var code: String?
    var field: String?

    init(_ node: JSONNode) {
        guard node.isObject else {
            message = node.plainText
            return
        }
        let members = node.members
        message = members.words(.message, .detail, .title)
        // The code and the place of an error of GraphQL.
        code = members.words(.code) ?? members[.extensions]?.members.words(.code)
        field = members.words(.field) ?? members[.path]?.joinedPath
    }
}

extension [Key: JSONNode] {
    /// Returns the words of the first of these members that has any.
    fileprivate func words(_ keys: Key...) -> String? {
        keys.lazy.compactMap { self[$0]?.words }.first
    }
}

extension JSONNode {
    /// The text; `nil` if this is none, or a malformed one.
    fileprivate var plainText: String? {
        // A member that cannot be read counts as missing: the status still says what happened.
        (try? text()) ?? nil
    }

    /// The text, or the number as text; `nil` if it is empty or anything else.
    fileprivate var words: String? {
        let text = plainText ?? integer().map(String.init)
        return text?.isEmpty == false ? text : nil
    }

    /// The members that an error may have.
    fileprivate var members: [Key: JSONNode] {
        var members: [Key: JSONNode] = [:]
        // What comes before a malformed key counts.
        try? forEachMember { name, value in
            if let key = Key(rawValue: name), members[key] == nil { members[key] = value }
        }
        return members.filter { !$1.isNull }
    }

    /// The first errors of a list.
    fileprivate var listedErrors: [ListedError] { elements.map(ListedError.init) }

    /// The names and indexes of a path in one text; `nil` if this is no list of those.
    fileprivate var joinedPath: String? {
        let path = elements.reduce(into: "") { path, step in path.append(step: step.plainText, at: step.integer()) }
        return path.isEmpty ? nil : path
    }

    /// The first elements: more would not fit on a screen.
    fileprivate var elements: [JSONNode] {
        var elements: [JSONNode] = []
        // Without a question in between, this does not throw.
        try? forEachElement(atMost: ErrorBody.mostFields) { elements.append($0) }
        return elements
    }

    /// The texts of each member, which is a text or a list of texts.
    fileprivate var listedTexts: [String: [String]] {
        var found: [String: [String]] = [:]
        // As in `members`.
        try? forEachMember { name, value in
            guard found[name] == nil else { return }
            guard value.isArray else { return found[name] = value.plainText.map { [$0] } }
            let texts = value.elements.map(\.plainText)
            if !texts.contains(nil) { found[name] = texts.compactMap(\.self) }
        }
        return found
    }
}
