/// A sentence of ``ServiceError/localizedDescription``, as a key that an app can translate.
///
/// Errand has each sentence in English and German. Apps in other languages translate the keys, which stay the same in
/// later versions: see <doc:HandlingErrors#Sentences-in-other-languages>.
public struct ErrorSentence: Sendable, Hashable {
    /// The key, such as `timedOut.attempt` or `advice.tryAgainInSeconds`.
    public var key: String { name.rawValue }
    /// The number that the sentence contains instead of `%lld`; `nil` if it contains none. It is never 1, so a language
    /// with one plural needs no second text.
    public let number: Int?

    private let name: Name

    init(_ name: Name, _ number: Int? = nil) {
        self.name = name
        self.number = number
    }

    /// All keys, for a test that your table has a text for each.
    public static var allKeys: [String] { Name.allCases.map(\.rawValue) }

    /// Returns the sentence in a language: in German for a tag such as `de` or `de-AT`, and in English for any other.
    public func text(in language: String) -> String {
        let isGerman = language.split(whereSeparator: { "-_".contains($0) }).first?.lowercased() == "de"
        let text = isGerman ? name.german : name.english
        guard let number, let place = text.firstRange(of: Self.placeholder) else { return text }
        return text.replacingCharacters(in: place, with: "\(number)")
    }

    private static let placeholder = "%lld"
}

extension String {
    fileprivate func replacingCharacters(in range: Range<Index>, with text: String) -> String {
        String(self[..<range.lowerBound]) + text + String(self[range.upperBound...])
    }
}

extension ErrorSentence: CustomStringConvertible {
    /// The sentence in English.
    public var description: String { text(in: "en") }
}
