/// How a call uses the cache of its client.
///
///     let friends = try await client.run(.friends(of: me.id).cache(.staleUpTo(.seconds(86_400))))
///
/// Policies that do not contradict each other can be combined: `.cache(.onlyIfCached, .staleUpTo(.seconds(600)))`. Only
/// ``keepingCopy`` stores what a server forbids to store, or uses what it requires to be confirmed first.
public struct CachePolicy: Sendable, Hashable, CustomStringConvertible {
    package enum Kind: Sendable, Hashable {
        case standard, reload, noStore, onlyIfCached, confirmed, heuristic, onlyOwn, keepingCopy
        case staleUpTo(Duration)
        case lifetime(Duration)
        case networkFirst(Duration)
    }

    package let kind: Kind

    /// Uses the cache as HTTP describes it, whatever the policies of the client say.
    public static let standard = CachePolicy(kind: .standard)
    /// Asks the server, whatever is stored, and stores the response.
    public static let reload = CachePolicy(kind: .reload)
    /// Asks the server, whatever is stored, and does not store the response.
    public static let noStore = CachePolicy(kind: .noStore)
    /// Sends nothing. Without a usable stored response the call fails with the status 504, takes no permit and is not
    /// retried; ``Rejection/cache`` has the reason ``CacheStatus/Reason/onlyIfCached`` then.
    public static let onlyIfCached = CachePolicy(kind: .onlyIfCached)

    /// Keeps a response for which the server gives no lifetime fresh for a tenth of the time since its last change, a
    /// day at most (RFC 9111, 4.2.2).
    ///
    /// Such a guess is right for pictures and pages, and wrong for what users change: a list that was changed ten days
    /// ago would be shown for a day without asking. So nobody guesses unless a call or the client asks for it.
    public static let heuristic = CachePolicy(kind: .heuristic)
    /// Says that only the user who is signed in sees what the call changes. What is stored for the URL, and belongs to
    /// other sessions or to none, stays. A call that is not signed removes it for all users, as without this policy.
    ///
    ///     try await client.run(.put("me", body: .json(["name": name])).cache(.onlyOwn))
    public static let onlyOwn = CachePolicy(kind: .onlyOwn)

    /// Keeps a copy of the response for a start without a network, even if the server forbids to store it: for an app
    /// on its user's own device, whose API sends everything with `no-store`.
    ///
    ///     $0.cache = .disk("com.example.app", megabytes: 50)
    ///     $0.cachePolicies = [.keepingCopy, .networkFirst(within: .seconds(3))]
    ///
    /// For what it forbids to store, or requires to be confirmed, the server is asked each time. Only if it cannot be
    /// reached or fails is the copy used, however old it is, and only by calls with this policy. With
    /// ``onlyIfCached``, it is used without asking. Only a signed call keeps a copy of what the server forbids to
    /// store. It belongs to the session, and a sign-out removes it.
    public static let keepingCopy = CachePolicy(kind: .keepingCopy)

    /// Has the server confirm what has expired, whatever would be allowed instead.
    static let confirmed = CachePolicy(kind: .confirmed)

    /// Accepts a response that has expired no longer than this ago. It is used at once, and refreshed beside the call.
    public static func staleUpTo(_ limit: Duration) -> CachePolicy { CachePolicy(kind: .staleUpTo(limit)) }

    /// Takes a 2xx response as fresh for this long if the server gives no lifetime. That holds for this call alone:
    /// another one takes what is stored as fresh for as long as the response says.
    public static func `for`(_ lifetime: Duration) -> CachePolicy { CachePolicy(kind: .lifetime(lifetime)) }

    /// Asks the server, and uses what is stored if the server fails or does not respond within this time: however old
    /// it is, unless the server requires it to be confirmed. Its late response is stored all the same. A POST that is
    /// stored under a key waits for the server without this limit.
    ///
    /// The response is stored for that, even if the server gives neither a lifetime nor a validator.
    public static func networkFirst(within limit: Duration) -> CachePolicy { CachePolicy(kind: .networkFirst(limit)) }

    /// The name of the policy, with its duration.
    public var description: String {
        switch kind {
        case .standard: "standard"
        case .reload: "reload"
        case .noStore: "noStore"
        case .onlyIfCached: "onlyIfCached"
        case .confirmed: "confirmed"
        case .heuristic: "heuristic"
        case .onlyOwn: "onlyOwn"
        case .keepingCopy: "keepingCopy"
        case .staleUpTo(let limit): "staleUpTo(\(limit.displayText))"
        case .lifetime(let lifetime): "for(\(lifetime.displayText))"
        case .networkFirst(let limit): "networkFirst(within: \(limit.displayText))"
        }
    }
}

/// What the policies of a call mean together.
struct CacheRules: Sendable, Hashable {
    enum Mode: Sendable {
        case standard, reload, noStore, onlyIfCached
        /// Confirms or replaces what is stored.
        case refresh
    }

    var mode = Mode.standard
    var staleUpTo: Duration?
    var lifetime: Duration?
    var networkFirst: Duration?
    var isHeuristic = false
    /// Whether the call keeps what the server forbids to store, and uses it if the server fails.
    var keepsCopy = false
    /// Whether the call removes only what belongs to the same user.
    var removesOnlyOwn = false
    /// Stands for the URL of the call.
    var key: String?
    var tags: Set<String> = []
    /// The server that the call goes to; `nil` for any.
    var server: String?

    init() {}

    /// Whether the call uses a response that has expired, although the server does not allow that by itself.
    var acceptsStale: Bool { (staleUpTo ?? .zero) > .zero || networkFirst != nil || keepsCopy }

    init(_ policies: [CachePolicy], key: String?, tags: Set<String>) {
        (self.key, self.tags) = (key, tags)
        for policy in policies {
            switch policy.kind {
            case .standard: self = CacheRules([], key: key, tags: tags)
            case .reload: mode = .reload
            case .noStore: mode = .noStore
            case .onlyIfCached: mode = .onlyIfCached
            case .confirmed: mode = .refresh
            case .heuristic: isHeuristic = true
            case .onlyOwn: removesOnlyOwn = true
            case .keepingCopy: keepsCopy = true
            case .staleUpTo(let limit): staleUpTo = limit
            case .lifetime(let lifetime): self.lifetime = lifetime
            case .networkFirst(let limit): networkFirst = limit
            }
        }
    }
}
