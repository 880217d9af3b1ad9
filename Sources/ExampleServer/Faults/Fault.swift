extension ExampleServer {
    /// What can go wrong with an answer, on request.
    ///
    /// A request can ask for it itself, with the header `X-Example-Fault`; what to write is given with each case.
    public enum Fault: Sendable, Hashable {
        /// Nothing is done; the answer has that status, and an error in the shape of the backend. Its message may be
        /// empty. In a header: `status 503`, or `empty-message 500`.
        case status(Int, message: String = "The server has a fault, as it was asked to have")
        /// The honest answer, so much later. In a header, in milliseconds: `slow 250`.
        case slow(Duration)
        /// Nothing is done, and the connection is reset. In a header: `reset`.
        case reset
        /// All is done, and then the connection is reset in place of the answer. In a header: `lost-answer`.
        case lostAnswer
        /// Nothing is done; the answer is a page of HTML with status 200, as a captive portal gives it. In a header:
        /// `html`.
        case html
        /// The honest answer, of which the second half is missing, though its length is told as if it were whole. In a
        /// header: `broken-json`.
        case brokenJSON
        /// The honest answer, whose JSON calls itself `text/html`. In a header: `mislabelled`.
        case mislabelled
        /// The honest answer, but its list has an element without an id. In a header: `element-without-id`.
        case elementWithoutID

        /// The name of the header with which a request asks for a fault of its own answer.
        public static let header = "X-Example-Fault"

        /// Reads what a header asks for; `nil` if there is no such fault.
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
            case ("mislabelled", nil): self = .mislabelled
            case ("element-without-id", nil): self = .elementWithoutID
            default: return nil
            }
        }
    }
}
