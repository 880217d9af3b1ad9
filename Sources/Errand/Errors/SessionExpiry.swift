/// Why the session of a call is over.
public struct SessionExpiry: Sendable, Hashable, CustomStringConvertible {
    /// What ended it.
    @nonexhaustive public enum Reason: String, Sendable, Hashable, CaseIterable {
        /// The server refused to refresh the access token.
        case refreshRefused
        /// The token has expired, and the server replaces none.
        case notRefreshable
        /// The user signed out while the call was under way.
        case signedOut
        /// Somebody else signed in while the call was under way.
        case otherSession
        /// The server refuses every token that it has just given out: five new tokens were refused within thirty
        /// seconds.
        case tooManyRefreshes
        /// The saved session cannot be read.
        case unreadable
    }

    /// What ended it.
    public let reason: Reason
    /// The server's own words, or what is wrong with the saved session.
    public let message: String?
    /// The status of the answer that refused the refresh, where there was one.
    public let status: Int?
    /// Whether the server may have seen the request, and acted on it: in an earlier attempt, since a session that ends
    /// under a call ends before a send, or with a 401, which means that nothing was done.
    public let mayHaveReachedServer: Bool

    /// Makes one.
    public init(_ reason: Reason, message: String? = nil, status: Int? = nil, mayHaveReachedServer: Bool = false) {
        self.reason = reason
        self.message = message
        self.status = status
        self.mayHaveReachedServer = mayHaveReachedServer
    }

    /// A sentence for people.
    public var description: String {
        let sentence =
            switch reason {
            case .refreshRefused, .notRefreshable: "Your session has expired; sign in again"
            case .signedOut: "You have signed out"
            case .otherSession: "Somebody else has signed in meanwhile"
            case .tooManyRefreshes: "The server refuses every new access token; sign in again"
            case .unreadable: "Your saved session cannot be read; sign in again"
            }
        guard let message, !message.isEmpty else { return sentence }
        return "\(sentence) (\(message))".printable
    }
}
