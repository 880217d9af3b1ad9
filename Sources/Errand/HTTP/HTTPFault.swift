/// A URL, a method or a header that HTTP does not allow.
struct HTTPFault: Error {
    enum Part {
        case url, method, header
    }

    /// How much of a text a reason shows.
    private static let longestText = 500

    let part: Part
    private let problem: String
    /// The text that is no URL; `nil` if the fault is another.
    private var text: String?

    init(_ part: Part, _ reason: String) {
        self.part = part
        problem = reason
    }

    /// Returns the fault for a text that is not a valid URL.
    static func url(_ text: String, _ reason: String) -> HTTPFault {
        var fault = HTTPFault(.url, reason)
        fault.text = text
        return fault
    }

    /// Returns what is wrong, with the text that is no URL as far as the redactor shows it, or with the beginning of a
    /// long one: it may come from a server.
    func reason(hiding redactor: Redactor) -> String {
        guard let text else { return problem }
        // Cut after it was masked, because half a secret would not be recognized.
        let whole = redactor.text(ofURL: text).unicodeScalars
        let shown = whole.prefix(Self.longestText)
        let end = shown.endIndex < whole.endIndex ? "…" : ""
        return "\(HTTPSyntax.quoted(String(shown)))\(end) is not a valid URL: \(problem)"
    }
}
