#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The rules of a call: its own options, or the client's where it has none.
public struct CallRules: Sendable {
    /// Whether the call is signed.
    public let authentication: CallOptions.Authentication
    /// The longest silence within each send; `nil` if there is no limit.
    public let timeout: Duration?
    /// The time limit of the whole call; `nil` if there is none.
    public internal(set) var deadline: Duration?
    /// The policy for retries.
    public let retry: RetryPolicy
    /// The key that makes the call safe to repeat; `nil` if there is none.
    public let idempotencyKey: String?
    /// The number of permits that each send takes.
    public let permits: Int
    /// The statuses that are no errors besides 200 to 299.
    public let acceptedStatuses: Set<Int>
    /// The redirects that the call follows.
    public let redirects: RedirectPolicy
    /// The limiter of the call; `nil` for that of the client.
    var limiter: RateLimiter?
    /// How the call uses the cache.
    var cache = CacheRules()
    /// Whether the call neither waits for others nor counts toward the limit.
    var ignoresConcurrency = false
    /// The base URL of the server that the call goes to; `nil` for any.
    var server: String?
    /// Whether a response is returned although the session that signed its request has ended.
    var outlivesSession = false
    /// What proves who sends a request that no token signs; `nil` if nothing does.
    var sender: SenderProof?
    /// A description of what is wrong with the rules; `nil` if they are valid.
    var problem: String?
    /// Whether the call has closures of its own that decide about retries or redirects: they cannot be compared.
    var hasOwnConditions = false

    /// Creates rules. The defaults are those of a client with the default configuration and without tokens.
    public init(
        authentication: CallOptions.Authentication = .none, timeout: Duration? = .seconds(30),
        deadline: Duration? = nil, retry: RetryPolicy = .standard, idempotencyKey: String? = nil, permits: Int = 1,
        acceptedStatuses: Set<Int> = [], redirects: RedirectPolicy = .all
    ) {
        self.authentication = authentication
        self.timeout = timeout
        self.deadline = deadline
        self.retry = retry
        self.idempotencyKey = idempotencyKey
        self.permits = permits
        self.acceptedStatuses = acceptedStatuses
        self.redirects = redirects
    }

    /// Creates the rules of a call: its own options, or else those of the client.
    init(_ options: CallOptions, over defaults: CallOptions, isCached: Bool, time: any TimeSource) {
        self.init(
            authentication: options.authentication == .automatic ? defaults.authentication : options.authentication,
            timeout: (options.timeout ?? defaults.timeout)?.duration,
            deadline: (options.deadline ?? defaults.deadline)?.duration,
            retry: options.retry ?? defaults.retry ?? .standard,
            idempotencyKey: options.idempotencyKey.map { $0.value(time: time) }, permits: options.permits,
            acceptedStatuses: options.acceptedStatuses, redirects: options.redirects ?? defaults.redirects ?? .all)
        if isCached {
            cache = CacheRules(defaults.cache + options.cache, key: options.cacheKey, tags: options.tags)
        }
        limiter = options.limiter
        ignoresConcurrency = options.ignoresConcurrency
        (server, cache.server) = (options.server, options.server)
        outlivesSession = options.outlivesSession
        sender = options.sender
        problem = Self.problem("timeout", timeout) ?? Self.problem("deadline", deadline) ?? retry.problem
        hasOwnConditions = options.hasConditions
    }

    private static func problem(_ name: String, _ limit: Duration?) -> String? {
        guard let limit, limit < .zero else { return nil }
        return "a negative \(name) of \(limit.displayText); use `nil` for none"
    }

    /// The rules by which requests are sent.
    struct Sending: Sendable, Hashable {
        fileprivate let timeout: Duration?
        fileprivate let retry: RetryPolicy
        fileprivate let permits: Int
        fileprivate let limiter: ObjectIdentifier?
        fileprivate let ignoresConcurrency: Bool
        fileprivate let server: String?
        fileprivate let acceptedStatuses: Set<Int>
        fileprivate let followsRedirects: Bool
        fileprivate let cache: CacheRules
        fileprivate let outlivesSession: Bool
        /// Whether the client's closures decide about retries and redirects.
        fileprivate let hasConditions: [Bool]
    }

    /// The rules by which the requests of the call are sent; `nil` if they cannot be compared with those of another, or
    /// if the response is meant for the call alone.
    var sending: Sending? {
        guard !hasOwnConditions, sender == nil, cache.mode != .noStore else { return nil }
        return Sending(
            timeout: timeout, retry: retry, permits: permits, limiter: limiter.map(ObjectIdentifier.init),
            ignoresConcurrency: ignoresConcurrency, server: server, acceptedStatuses: acceptedStatuses,
            followsRedirects: !redirects.followsNone, cache: cache, outlivesSession: outlivesSession,
            hasConditions: [retry.hasCondition, redirects.hasCondition])
    }

    /// The same rules without a time limit for the whole call.
    var withoutDeadline: CallRules {
        var rules = self
        rules.deadline = nil
        return rules
    }

    /// Returns whether the call may ask again after that response. The cache neither stores such a response nor gives
    /// it: the next attempt would receive it, and so would all calls for as long as it is fresh.
    func mayAskAgain(after response: HTTPResponse) -> Bool {
        guard response.status >= 400, retry.attempts > 1, !accepts(response.status) else { return false }
        return retry.hasCondition || retry.isTransient(response)
    }

    /// Returns whether a response with that status is a value and no error.
    func accepts(_ status: Int) -> Bool {
        (200..<300).contains(status) || acceptedStatuses.contains(status)
    }
}

extension RetryPolicy {
    /// Returns whether the policy repeats an attempt with that response, unless a closure decides.
    func isTransient(_ response: HTTPResponse) -> Bool {
        response.headers.asksForRetry ?? statuses.contains(response.isThrottled ? 429 : response.status)
    }
}

/// The rules of one call, or of all calls without options of their own.
///
/// A class, because copying the rules would retain each of their many fields.
final class BoxedRules: Sendable {
    let rules: CallRules

    init(_ rules: CallRules) {
        self.rules = rules
    }
}

extension CallOptions.IdempotencyKey {
    fileprivate func value(time: any TimeSource) -> String {
        switch kind {
        case .unique: time.randomUUID().uuidString
        case .fixed(let key): key
        }
    }
}
