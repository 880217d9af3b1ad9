extension ExampleServer {
    /// A fault that can be injected into a response.
    ///
    /// A request can ask for a fault itself, with the header `X-Example-Fault`; each case gives the header's value.
    public enum Fault: Sendable, Hashable {
        /// The request is not carried out; the response has that status, and an error in the backend's format. Its
        /// message may be empty. In a header: `status 503`, or `empty-message 500`.
        case status(Int, message: String = "The server has a fault, as it was asked to have")
        /// The correct response, delayed by that duration. In a header, in milliseconds: `slow 250`.
        case slow(Duration)
        /// The request is not carried out, and the connection is reset. In a header: `reset`.
        case reset
        /// The request is carried out, and then the connection is reset instead of a response. In a header:
        /// `lost-answer`.
        case lostAnswer
        /// The request is not carried out; the response is an HTML page with status 200, as a captive portal sends it.
        /// In a header: `html`.
        case html
        /// The correct response without the second half of its body, but with the length of this shorter body. In a
        /// header: `broken-json`.
        case brokenJSON
        /// The correct response, whose JSON is labeled `text/html`. In a header: `mislabeled`.
        case mislabeled
        /// The correct response, but its list has an element without an id. In a header: `element-without-id`.
        case elementWithoutID

        /// The name of the header with which a request asks for a fault in its own response.
        public static let header = "X-Example-Fault"

        /// Creates the fault that a header asks for; `nil` if there is no such fault.
        public init?(header text: String) {
            let words = text.split(separator: " ")
            switch (words.first, words.count == 2 ? Int(words[1]) : nil) {
            case ("status", .some(let status)) where (400..<600).contains(status): self = .status(status)
            case ("empty-message", .some(let status)) where (400..<600).contains(status):
                self = .status(status, message: "")
            case ("slow", .some(let pause)) where pause >= 0: self = .slow(.milliseconds(pause))
            case ("reset", nil): self = .reset
            case ("lost-answer", nil): self = .lostAnswer
            case ("html", nil): self = .html
            case ("broken-json", nil): self = .brokenJSON
            case ("mislabeled", nil): self = .mislabeled
            case ("element-without-id", nil): self = .elementWithoutID
            default: return nil
            }
        }
    }
}
