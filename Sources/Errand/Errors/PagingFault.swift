/// Why a list cannot be read on, page by page, though every call has succeeded.
public struct PagingFault: Sendable, Hashable, CustomStringConvertible {
    /// The kinds of fault.
    @nonexhaustive public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// The next page is one that was there before: the list goes round in a circle.
        case repeated
        /// The next page lies on another origin. It was not asked for, so no token has left.
        case otherOrigin
        /// There are more pages than the page limit allows.
        case tooManyPages
        /// The answer does not say how many pages there are.
        case missingTotal
        /// What the answer names as its next page is no URL.
        case unreadable
    }

    /// The kind.
    public let kind: Kind
    /// What happened, in words.
    public let message: String

    /// Makes one.
    public init(_ kind: Kind, _ message: String = "") {
        self.kind = kind
        self.message = message
    }

    /// A sentence for people.
    public var description: String {
        message.isEmpty ? kind.displayText : "\(kind.displayText): \(message)".printable
    }
}

extension PagingFault.Kind {
    fileprivate var displayText: String {
        switch self {
        case .repeated: "The server's list goes round in a circle"
        case .otherOrigin: "The next page of the list is on another server, which was not asked"
        case .tooManyPages: "The list has too many pages"
        case .missingTotal: "The server does not say how many pages the list has"
        case .unreadable: "The server does not say properly where the next page of the list is"
        }
    }
}
