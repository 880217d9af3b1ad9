/// The options of one call. Where an option is `nil`, the client's configuration applies.
public struct CallOptions: Sendable {
    /// Whether a call is signed.
    public enum Authentication: Sendable, Hashable {
        /// The call is signed. If no user is signed in, it fails with `.signInRequired` and sends nothing.
        case required
        /// The call is signed if a user is signed in.
        case optional
        /// The call is never signed.
        case none
    }

    /// A key by which a server recognizes requests of the same call.
    public enum IdempotencyKey: Sendable, Hashable {
        /// A new key for every call, the same for all its attempts.
        case unique
        /// This key.
        case fixed(String)
    }

    /// A time limit of a call that replaces the configuration's.
    public struct TimeLimit: Sendable, Hashable {
        /// The limit; `nil` if there is none.
        public let duration: Duration?

        /// Returns that limit.
        public static func limit(_ duration: Duration) -> TimeLimit { TimeLimit(duration: duration) }
        /// No limit.
        public static let unlimited = TimeLimit(duration: nil)
    }

    /// Whether the call is signed; `nil` by default: `.required` if the client has tokens, otherwise `.none`.
    public var authentication: Authentication?
    /// The longest silence within each send; `nil` by default: that of the configuration.
    public var timeout: TimeLimit?
    /// The time limit of the whole call; `nil` by default: that of the configuration.
    public var deadline: TimeLimit?
    /// The policy for retries; `nil` by default: that of the configuration.
    public var retry: RetryPolicy?
    /// The key that makes the call safe to repeat; `nil`, no key, by default.
    public var idempotencyKey: IdempotencyKey?
    /// The decoder of the response; `nil` by default: that of the configuration.
    public var decoder: (any ResponseDecoder)?
    /// The number of permits that each send takes from the rate limiter; 1 by default.
    public var permits = 1

    /// Creates options that follow the client's configuration.
    public init() {}
}
