/// Which redirects a call follows.
///
///     let client = APIClient("https://api.example.com") {
///         $0.redirects = .following { !$0.leavesOrigin }
///     }
///     let reply = try await client.reply(to: Endpoint<NoContent>.get("download").redirects(.never).accepting(302))
///     let address = reply.headers["Location"]
///
/// A redirect that is not followed is the response of the call: an error, `.rejected`, unless the endpoint accepts its
/// status. A redirect that the policy would follow is an error if it leads from https to http, leads back to a URL that
/// was already requested, or would send a body to another server.
public struct RedirectPolicy: Sendable {
    package enum Kind: Sendable {
        case all, never
        case some(@Sendable (Redirect) -> Bool)
    }

    package let kind: Kind

    /// Follows up to 10 redirects of an attempt.
    public static let all = RedirectPolicy(kind: .all)
    /// Follows no redirects.
    public static let never = RedirectPolicy(kind: .never)

    /// Follows the redirects for which the closure returns `true`, up to 10 of an attempt.
    ///
    /// The closure is called once for each redirect that could be followed, on no actor. The call waits for it.
    public static func following(_ condition: @escaping @Sendable (Redirect) -> Bool) -> RedirectPolicy {
        RedirectPolicy(kind: .some(condition))
    }

    /// Whether it follows no redirects.
    var followsNone: Bool { if case .never = kind { true } else { false } }
    /// Whether a closure decides.
    var hasCondition: Bool { if case .some = kind { true } else { false } }
}

/// A redirect that a call could follow.
public struct Redirect: Sendable, Hashable {
    /// The status of the response: 301, 302, 303, 307 or 308.
    public let status: Int
    /// The method of the next request.
    public let method: HTTPMethod
    /// The URL that has responded with the redirect.
    public let source: HTTPURL
    /// The URL that the next request goes to.
    public let target: HTTPURL
    /// The number of the redirect within an attempt of the call, from 1.
    public let number: Int

    /// Creates a redirect, for a test of your own closure.
    public init(status: Int, method: HTTPMethod = .get, source: HTTPURL, target: HTTPURL, number: Int = 1) {
        self.status = status
        self.method = method
        self.source = source
        self.target = target
        self.number = number
    }

    /// Whether the redirect leads to another scheme, host or port. The next request then goes without credentials.
    public var leavesOrigin: Bool { source.origin != target.origin }
}
