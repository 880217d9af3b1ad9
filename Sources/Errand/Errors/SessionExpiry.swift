/// The reason why the session of a call has ended, or cannot be used.
public struct SessionExpiry: Sendable, Hashable, CustomStringConvertible, ErrorPayload {
    /// The kinds of reasons.
    @nonexhaustive public enum Reason: String, Sendable, Hashable, CaseIterable {
        /// The server refused to refresh the access token. The user has to sign in again.
        case refreshRefused
        /// The token has expired, and the server replaces none. The user has to sign in again.
        case notRefreshable
        /// The user signed out during the call.
        case signedOut
        /// Another sign-in began a new session during the call.
        case otherSession
        /// The server refuses the tokens it has just issued: five new tokens were refused within thirty seconds. The
        /// session is kept.
        case tooManyRefreshes
        /// The saved session cannot be read. A later call may succeed if the error was temporary.
        case unreadable
        /// The saved session is damaged, or a later version of the program wrote it. It is not used again, so the user
        /// has to sign in again.
        case damaged
    }

    /// The reason.
    public let reason: Reason
    /// The server's message, or what is wrong with the saved session.
    public let message: String?
    /// The status of the response that refused the refresh; `nil` if there was none.
    public let status: Int?
    /// Whether the server may have acted on the call: on an earlier attempt, or on the last one if the session ended
    /// while its response was awaited or read. A last attempt that was not sent, or received a 401, does not count.
    public var mayHaveReachedServer: Bool { call.mayHaveReachedServer }
    var call: FailedCall

    /// Creates a reason.
    public init(_ reason: Reason, message: String? = nil, status: Int? = nil, mayHaveReachedServer: Bool = false) {
        self.reason = reason
        self.message = message
        self.status = status
        call = FailedCall(mayHaveReachedServer: mayHaveReachedServer)
    }

    /// What happened, in words for developers.
    public var description: String {
        let sentence =
            switch reason {
            case .refreshRefused, .notRefreshable: "Your session has expired; sign in again"
            case .signedOut: "You have signed out"
            case .otherSession: "Another sign-in has replaced your session"
            case .tooManyRefreshes: "The server refuses every new access token; try again later"
            case .unreadable: "Your saved session cannot be read; try again or sign in again"
            case .damaged: "Your saved session cannot be read; sign in again"
            }
        guard let message, !message.isEmpty else { return sentence }
        return "\(sentence) (\(message))".printable
    }
}
