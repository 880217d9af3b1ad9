#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The difference between a response and the endpoint's response type.
public struct DecodingFailure: Sendable, Hashable, CustomStringConvertible, ErrorPayload {
    /// The path in the response: `users[3].id`; empty for the response as a whole.
    public let path: String
    /// What was expected there.
    public let expected: String
    /// What the response has there.
    public let found: String
    /// The beginning of the response in one line, with secrets masked and control characters escaped.
    public let snippet: String
    /// The status of the response.
    public let status: Int?
    var call = FailedCall(mayHaveReachedServer: true)
    /// Advice on what to do; `nil` if there is none.
    var advice = Uncompared<String>()

    /// Creates a failure.
    public init(path: String, expected: String, found: String, snippet: String = "", status: Int? = nil) {
        self.path = path
        self.expected = expected
        self.found = found
        self.snippet = snippet
        self.status = status
    }

    /// Creates a failure from the error of a decoder, for values that you decode yourself.
    ///
    ///     func user(in data: Data) throws(ServiceError) -> User {
    ///         do {
    ///             return try JSONDecoder().decode(User.self, from: data)
    ///         } catch {
    ///             throw .decodingFailed(DecodingFailure(error, decoding: User.self, from: data))
    ///         }
    ///     }
    ///
    /// Values with well-known secret names are masked; the names in ``Configuration/secretNames`` are not known here.
    ///
    /// - Parameters:
    ///   - error: The error, as a rule a `DecodingError`.
    ///   - type: The type that was decoded.
    ///   - data: What was decoded, for the snippet; empty by default.
    public init(_ error: any Error, decoding type: Any.Type, from data: Data = Data()) {
        let cause = Cause(error, decoding: type, isQuoting: true)
        func shown(_ text: some Collection<UInt8>, upTo length: Int = Self.shownLength) -> String {
            let (beginning, isCut) = Redactor.standard.beginning(of: text, length: length)
            return isCut ? "\(beginning)…" : beginning
        }
        self.init(
            path: shown(cause.path.utf8, upTo: Self.pathLength), expected: cause.expected,
            found: shown(cause.found.utf8), snippet: shown(data))
    }

    /// How much of a text is shown, and of a path, whose names may come from the server too.
    private static let (shownLength, pathLength) = (200, 500)

    /// What happened, in words for developers.
    public var description: String {
        let place = path.isEmpty ? "" : " at \(path)"
        let advice = advice.value.map { "; \($0)" } ?? ""
        let difference = "expected \(expected)\(place), found \(found)\(advice)"
        return "The server's response could not be read: \(difference)".printable
    }
}

extension DecodingFailure {
    /// The information in the error of a decoder.
    struct Cause {
        /// The path in the response.
        let path: String
        /// What was expected there.
        let expected: String
        /// What was found there.
        let found: String

        /// Reads an error. Quotes the decoder's own text only if `isQuoting`: it may contain the value.
        init(_ error: any Error, decoding type: Any.Type, isQuoting: Bool) {
            let (path, expected, found): ([any CodingKey], Any.Type?, String) =
                switch error as? DecodingError {
                case .typeMismatch(let type, let context):
                    (context.codingPath, type, isQuoting ? context.finding : "a value of another type")
                case .valueNotFound(let type, let context): (context.codingPath, type, "null")
                case .keyNotFound(let key, let context): (context.codingPath + [key], nil, "nothing")
                case .dataCorrupted(let context):
                    (context.codingPath, type, isQuoting ? context.debugDescription : "an invalid value")
                default: ([], type, "a value whose decoding threw \(foreignName(of: error))")
                }
            self.path = path.joined
            self.expected = expected.map(Self.name) ?? "a value"
            self.found = found
        }

        /// The name of an expected type. Decoders name these two wherever a model needs an array or an object.
        private static func name(of type: Any.Type) -> String {
            type == [Any].self ? "an array" : type == [String: Any].self ? "an object" : "\(type)"
        }
    }
}

extension DecodingError.Context {
    /// What was found, from text like "Expected to decode Int but found a string instead."; the expected type is shown
    /// separately.
    fileprivate var finding: String {
        let end = " instead."
        guard let start = debugDescription.firstRange(of: " but found ")?.upperBound, debugDescription.hasSuffix(end)
        else { return debugDescription }
        let found = debugDescription[start...].dropLast(end.count)
        // JSON has no dictionaries.
        return found == "a dictionary" ? "an object" : String(found)
    }
}

extension [any CodingKey] {
    /// The path as readable text: `users[3].id`.
    var joined: String {
        reduce(into: "") { text, key in
            if let index = key.intValue {
                text += "[\(index)]"
            } else {
                text += text.isEmpty ? key.stringValue : ".\(key.stringValue)"
            }
        }
    }
}
