/// A URL, a method or a header that HTTP does not allow.
struct HTTPFault: Error {
    enum Part {
        case url, method, header
    }

    let part: Part
    let reason: String

    init(_ part: Part, _ reason: String) {
        self.part = part
        self.reason = reason
    }

    /// Returns the fault for a text that is not a valid URL. Its reason shows the text without secrets.
    static func url(_ text: String, _ reason: String) -> HTTPFault {
        let shown = HTTPSyntax.quoted(Redactor.standard.text(ofURL: text))
        return HTTPFault(.url, "\(shown) is not a URL to call: \(reason)")
    }
}
