/// What HTTP does not allow: a URL, a method or a header.
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

    /// A text that is not a URL to call, shown without its secrets.
    static func url(_ text: String, _ reason: String) -> HTTPFault {
        let shown = HTTPSyntax.quoted(Redactor.standard.text(ofURL: text))
        return HTTPFault(.url, "\(shown) is not a URL to call: \(reason)")
    }
}
