/// The options of one call. Where an option is `nil`, the client's configuration applies.
public struct CallOptions: Sendable {
    /// Whether a call is signed.
    public struct Authentication: Sendable, Hashable, CustomStringConvertible {
        package enum Kind: Sendable, Hashable { case automatic, required, optional, none }

        package let kind: Kind

        /// `.required` if the client has tokens, otherwise `.none`.
        public static let automatic = Authentication(kind: .automatic)
        /// The call is signed. If no user is signed in, it fails with `.signInRequired` and sends nothing.
        public static let required = Authentication(kind: .required)
        /// The call is signed if a user is signed in.
        public static let optional = Authentication(kind: .optional)
        /// The call is never signed.
        public static let none = Authentication(kind: .none)

        /// The rule's name.
        public var description: String { "\(kind)" }
    }

    /// A key by which a server recognizes requests of the same call.
    public struct IdempotencyKey: Sendable, Hashable, CustomStringConvertible {
        package enum Kind: Sendable, Hashable {
            case unique
            case fixed(String)
        }

        package let kind: Kind

        /// A new key for every call, the same for all its attempts.
        public static let unique = IdempotencyKey(kind: .unique)
        /// This key.
        public static func fixed(_ key: String) -> IdempotencyKey { IdempotencyKey(kind: .fixed(key)) }

        /// The kind of the key, and the key if it is fixed.
        public var description: String { "\(kind)" }
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

    /// Whether the call is signed; `.automatic` by default.
    public var authentication = Authentication.automatic
    /// Whether the response is returned although the session of the call ended after the request was sent; `false` by
    /// default. See ``Endpoint/outlivingSession()``.
    public var outlivesSession = false
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
    /// The statuses that are no errors besides 200 to 299; none by default. See ``Endpoint/accepting(_:)``.
    public var acceptedStatuses: Set<Int> = []
    /// The redirects that the call follows; `nil` by default: those of the configuration.
    public var redirects: RedirectPolicy?
    /// How the call uses the client's cache; by default as the server says.
    public var cache: [CachePolicy] = []
    /// The name under which the response is cached instead of its URL; `nil` by default. See ``Endpoint/cache(key:)``.
    public var cacheKey: String?
    /// The tags of the cached response; none by default. See ``Endpoint/tags(_:)``.
    public var tags: Set<String> = []
    /// The number of permits that each send takes from the rate limiter; 1 by default.
    public var permits = 1

    /// What proves who sends a request that no token signs; `nil` by default.
    var sender: SenderProof?

    /// Creates options that follow the client's configuration.
    public init() {}

    /// Whether closures decide about retries or redirects.
    var hasConditions: Bool { retry?.hasCondition ?? false || redirects?.hasCondition ?? false }
}
