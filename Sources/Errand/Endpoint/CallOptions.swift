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
    /// The rate limiter of the call; `nil` by default: that of the client. See ``Endpoint/limiter(_:)``.
    public var limiter: RateLimiter?
    /// Whether the call neither waits for others nor counts toward the limit; `false` by default. See
    /// ``Endpoint/ignoringConcurrency()``.
    public var ignoresConcurrency = false
    /// The base URL of the server that the call goes to; `nil` by default: any of the client's. See
    /// ``Endpoint/server(_:)``.
    public var server: String?
    /// The version that the resource must have; `nil` by default: any. See ``Endpoint/ifMatch(_:)``.
    public var ifMatch: EntityTag?
    /// The version that the resource must not have; `nil` by default: any may be there. See
    /// ``Endpoint/ifNoneMatch(_:)``.
    public var ifNoneMatch: EntityTag?
    /// The digests of the body that are sent with it; none by default. See ``Endpoint/digest(_:)``.
    public var digests: Set<BodyDigest> = []

    /// The value whose members are parameters of the query; `nil` by default. See ``Endpoint/query(_:)``.
    var queryValue: QueryMembers?
    /// What proves who sends a request that no token signs; `nil` by default.
    var sender: SenderProof?

    /// Creates options that follow the client's configuration.
    public init() {}

    /// Whether closures decide about retries or redirects.
    var hasConditions: Bool { retry?.hasCondition ?? false || redirects?.hasCondition ?? false }
}

extension Endpoint {
    /// Returns the same call, signed or not.
    public func authentication(_ rule: CallOptions.Authentication) -> Self {
        with { $0.options.authentication = rule }
    }

    /// Returns the same call, whose response is returned although its session ends after the request was sent.
    ///
    /// Without this, a signed call ends with `.sessionExpired` as soon as the user signs out or another one signs in,
    /// so that no screen receives the data of an earlier user. Use it for a call whose result no screen shows, and that
    /// may run beside a sign-out:
    ///
    ///     try await client.run(.delete("devices/\(device)").outlivingSession())
    ///
    /// A call that has not been sent ends with its session all the same, because it cannot be signed any more: it is
    /// not retried, and follows no redirect. So do streams and downloads.
    public func outlivingSession() -> Self {
        with { $0.options.outlivesSession = true }
    }

    /// Returns the same call with this limit on the silence within each send: the time until the head of the response
    /// is complete, and each pause while a body arrives or leaves. With `nil`, there is no limit.
    public func timeout(_ limit: Duration?) -> Self {
        with { $0.options.timeout = .init(duration: limit) }
    }

    /// Returns the same call with this time limit for everything: waits, token refreshes, backoff and all attempts.
    /// With `nil`, there is no limit.
    public func deadline(_ limit: Duration?) -> Self {
        with { $0.options.deadline = .init(duration: limit) }
    }

    /// Returns the same call with this retry policy.
    public func retry(_ policy: RetryPolicy) -> Self {
        with { $0.options.retry = policy }
    }

    /// Returns the same call with a key that makes it safe to repeat.
    public func idempotencyKey(_ key: CallOptions.IdempotencyKey) -> Self {
        with { $0.options.idempotencyKey = key }
    }

    /// Returns the same call with that key, which makes it safe to repeat.
    public func idempotencyKey(_ key: String) -> Self {
        idempotencyKey(.fixed(key))
    }

    /// Returns the same call; each send takes `count` permits of the rate limiter.
    public func permits(_ count: Int) -> Self {
        with { $0.options.permits = count }
    }

    /// Returns the same call, which takes its permits from that limiter instead of the client's. A pause that a server
    /// asks for in response stops that limiter.
    ///
    /// So reads and writes can have limits of their own in one client:
    ///
    ///     let writes = RateLimiter(.requests(1, per: .seconds(1)))
    ///     try await client.run(.patch("me", body: .json(["name": name])).limiter(writes))
    ///
    /// To have such calls count against the client's limit too, create the limiter within that of the client:
    /// ``RateLimiter/init(_:within:serverPauses:)``.
    public func limiter(_ limiter: RateLimiter) -> Self {
        with { $0.options.limiter = limiter }
    }

    /// Returns the same call, which neither waits until fewer calls are under way nor counts as one of them, whatever
    /// ``Configuration/concurrency`` says.
    ///
    /// Use it for a call on which others depend, such as one that your middleware makes with the same client.
    public func ignoringConcurrency() -> Self {
        with { $0.options.ignoresConcurrency = true }
    }

    /// Returns the same call, which goes to one of the client's servers, and stays there if that fails.
    ///
    ///     let client = APIClient(.servers("https://api.example.com", "https://media.example.com"))
    ///     let image = try await client.run(Endpoint<Data>.get("images/\(id)").server("https://media.example.com"))
    ///
    /// A server that is not in the client's list makes the call fail with `.invalidRequest`. Responses to calls that
    /// name a server are stored separately.
    ///
    /// - Parameter baseURL: The base URL, as in the list.
    public func server(_ baseURL: String) -> Self {
        with { $0.options.server = baseURL }
    }

    /// Returns the same call, for which these statuses are no errors either.
    ///
    ///     let photo = try await client.run(Endpoint<Photo?>.get("photos/\(id)").accepting(404))
    ///
    /// The response of a call that ends with such a status depends on its type:
    /// - An optional is `nil`, whatever the body contains.
    /// - `NoContent` ignores the body, and `Data` is the body as it is.
    /// - Any other type is decoded from the body, as after a success.
    ///
    /// ``APIClient/reply(to:onProgress:)`` returns the status too. Such a response is not retried. A redirect is
    /// followed all the same, unless ``redirects(_:)`` prevents it, and a 401 still has the token replaced first.
    /// Downloads and event streams have no use for these statuses, and report them as errors.
    public func accepting(_ statuses: Int...) -> Self {
        with { $0.options.acceptedStatuses.formUnion(statuses) }
    }

    /// Returns the same call, which follows only the redirects that the policy allows.
    public func redirects(_ policy: RedirectPolicy) -> Self {
        with { $0.options.redirects = policy }
    }

    /// Returns the same call, which uses the client's cache by these policies. They replace earlier ones of the call.
    /// Those of ``Configuration/cachePolicies`` hold too, unless they contradict them.
    public func cache(_ policies: CachePolicy...) -> Self {
        with { $0.options.cache = policies }
    }

    /// Returns the same call, whose response is cached under that name instead of its URL: for URLs that are signed,
    /// and so are others each time. All calls with the name have to mean the same response. With a name, a POST only
    /// reads, so its response is cached too.
    public func cache(key: String) -> Self {
        with { $0.options.cacheKey = key }
    }

    /// Returns the same call with these tags: ``HTTPCache/invalidate(tag:)`` removes what it has stored, or used.
    public func tags(_ tags: String...) -> Self {
        with { $0.options.tags.formUnion(tags) }
    }

    /// Returns the same call with a decoder that replaces the client's.
    public func decoder(_ decoder: any ResponseDecoder) -> Self {
        with { $0.options.decoder = decoder }
    }
}
