/// The reason why a paged list cannot be continued, although every call has succeeded.
public struct PagingFault: Sendable, Hashable, CustomStringConvertible, ErrorPayload {
    /// The kinds of fault.
    @nonexhaustive public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// The next page is one that was read before: the list has a cycle.
        case repeated
        /// The next page is on another origin. It was not requested, so no token was sent there.
        case otherOrigin
        /// There are more pages than the page limit allows.
        case tooManyPages
        /// The response does not contain the number of pages.
        case missingTotal
        /// The response's next page is not a URL.
        case unreadable
    }

    /// The kind.
    public let kind: Kind
    /// What happened, in words.
    public let message: String
    var call = FailedCall(mayHaveReachedServer: true)

    /// Creates a fault.
    public init(_ kind: Kind, _ message: String = "") {
        self.kind = kind
        self.message = message
    }

    /// What happened, in words for developers.
    public var description: String {
        message.isEmpty ? kind.displayText : "\(kind.displayText): \(message)".printable
    }
}

extension PagingFault.Kind {
    fileprivate var displayText: String {
        switch self {
        case .repeated: "The server's list returned to an earlier page"
        case .otherOrigin: "The next page of the list is on another server, and was not requested"
        case .tooManyPages: "The list has too many pages"
        case .missingTotal: "The server does not say how many pages the list has"
        case .unreadable: "The server's link to the next page of the list is not a valid URL"
        }
    }
}
