import ErrandJSON
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The configuration of a client. It is fixed when the client is created.
public struct Configuration: Sendable {
    /// The server that the client calls.
    public var environment: ServerEnvironment
    /// Headers of every call; none by default. An endpoint's headers override them.
    public var headers: HTTPHeaders = [:]
    /// A closure that returns further headers for each call; `nil` by default. They override `headers`.
    public var headersForEachCall: (@Sendable () -> HTTPHeaders)?
    /// Parameters of every call; none by default. They are part of the JSON body if the endpoint is made of parameters
    /// and has a JSON body, otherwise of the query. An endpoint's parameters override them.
    public var parameters: Parameters = [:]
    /// A closure that returns further parameters for each call; `nil` by default. They override `parameters`.
    public var parametersForEachCall: (@Sendable () -> Parameters)?
    /// Further names of secret values: of headers, of parameters in a query or a form, and of JSON members; none by
    /// default.
    ///
    /// Errand masks such values, like those with well-known secret names, in descriptions, errors, events and cURL
    /// commands. Case and separators do not matter: `partner_code` also covers `partnerCode` and `Partner-Code`. A
    /// header with such a name is not sent to another origin after a redirect.
    public var secretNames: Set<String> = []

    /// Further origins that are trusted like the client's own, such as `https://uploads.example.com`; none by default.
    ///
    /// A redirect or a middleware that leads a request to another origin leaves the client's credentials behind: the
    /// request is not signed, and has no cookie of the client's host and no header that may be a credential. To an
    /// origin that is named here, everything goes along.
    public var trustedOrigins: Set<String> = []
    /// The token store that signs the calls; `nil`, no store, by default.
    public var tokens: TokenStore?
    /// A key, or a name and a password, that the calls send; `nil`, none, by default. See ``APICredentials``.
    public var credentials: APICredentials?
    /// The jar that keeps and sends cookies; `nil`, no cookies, by default. A `Cookie` header of an endpoint, or of
    /// ``headers``, is sent instead of the jar's cookies.
    public var cookies: CookieJar?
    /// The rate limit of the client; 5 requests per second by default.
    ///
    /// The first call in a process that waits because of the default is reported as ``ClientEvent/Kind/warned(_:)``
    /// and, in a debug build, on standard error. Setting a limit, also the same one, or a ``limiter`` silences that.
    public var rateLimit: RateLimit = .requests(5, per: .seconds(1)) {
        didSet { limitNotice = nil }
    }
    /// Reports once per process that the default limit makes calls wait.
    package var limitNotice: Notice? = Self.defaultLimitNotice
    /// A limiter to share with other clients, which replaces `rateLimit`; `nil` by default.
    public var limiter: RateLimiter?
    /// The longest pause of the limiter that a response may begin, one hour by default. A longer pause is ignored and
    /// reported as ``ClientEvent/Kind/ignoredPause(_:)``, so that one wrong header cannot stop the client for days.
    public var longestServerPause: Duration = .seconds(3600)
    /// The policy for retries; ``RetryPolicy/standard``, up to three attempts, by default.
    public var retry: RetryPolicy = .standard
    /// The redirects that calls follow; ``RedirectPolicy/all``, up to 10 of an attempt, by default.
    public var redirects: RedirectPolicy = .all
    /// The cache of the responses; `nil`, no cache, by default. You can share it with other clients.
    public var cache: HTTPCache?
    /// How all calls use the cache; none by default. The policies of a call come on top of them: see
    /// ``Endpoint/cache(_:)``.
    ///
    ///     $0.cachePolicies = [.for(.seconds(30)), .staleUpTo(.seconds(600))]
    public var cachePolicies: [CachePolicy] = []
    /// The names of headers that attempt middleware adds with the same value to every request; none by default.
    ///
    /// The cache is above such middleware. It stores no response that depends on a header, or may belong to a
    /// credential, that was added after it, unless the header is named here.
    ///
    /// Do not name a header with the credential of one user. The cache does not see its value, so it would give that
    /// user's responses to others, and to other clients that share the cache. Send such a credential with an endpoint's
    /// headers, ``headers`` or ``credentials``: then only requests that have the same share responses.
    public var constantHeaders: Set<String> = []
    /// The names of headers that say nothing about who asks, beside the well-known ones; none by default.
    ///
    /// Requests share stored responses only if all of their headers are the same that may say who asks: `X-Tenant-Id`,
    /// `X-Api-Key` or `X-Anything`. Headers that do not are known by their names, among them `Accept`, `User-Agent`,
    /// conditions, and identifiers of traces and requests. If each of your requests has another value in a header that
    /// identifies the request and not its sender, name it here. <doc:Caching> lists the known ones.
    public var anonymousHeaders: Set<String> = []
    /// The longest silence within a send, 30 seconds by default: the time until the head of the response is complete,
    /// and each pause while a body arrives or leaves. A replay and each redirect are sends of their own.
    ///
    /// A large body may take any time as long as it moves; ``deadline`` limits the whole call. With zero, nothing is
    /// sent; with `nil`, there is no limit.
    public var timeout: Duration? = .seconds(30)
    /// The time limit of a whole call: waits, token refreshes, backoff, all attempts and decoding; `nil`, no limit, by
    /// default.
    public var deadline: Duration?

    /// How many requests of the client are under way at once; no limit by default, besides that of the transport.
    ///
    ///     $0.concurrency = .atMost(8)
    public var concurrency = ConcurrencyLimit.none
    /// How the client uses its servers, if it has several; by default the first that is not set aside.
    public var servers = ServerRules()
    /// When the client stops asking a server that fails, for a while; never by default.
    public var breaker = CircuitBreaker.none
    /// When the client sends a request a second time because the response is late; never by default.
    public var hedging = HedgingPolicy.none

    /// The encoder of request bodies; by default a `JSONEncoder` with sorted keys, so that equal values have equal
    /// bodies.
    public var encoder: any RequestEncoder = Self.sortingEncoder
    /// The decoder of response bodies; a ``FastJSONDecoder`` by default.
    public var decoder: any ResponseDecoder = FastJSONDecoder()
    /// The content types of responses that are decoded, JSON types by default; `*` matches any part. A response without
    /// a content type is decoded too; `Data` and `String` accept every type, and a `String` is the text of each
    /// response that neither is called JSON nor has a type that is named here in full. Types without `*+` are also sent
    /// as the `Accept` header.
    public var acceptedContentTypes: [String] = ["application/json", "text/json", "application/*+json"]
    /// The greatest number of bytes in a response, decompressed; 64 MiB by default.
    public var responseByteLimit: Int = 64 << 20

    /// What is read of your own error type from each response that is an error, in one place; nothing by default.
    /// ``ServiceError/details(as:)`` and ``Rejection/details(as:)`` return it.
    ///
    ///     $0.errorDetails = .decoding(StripeError.self, below: "error")
    public var errorDetails = ErrorDetails.none
    /// A closure that receives each event, in order and as a rule in the task of the call, so that no event is lost
    /// when a short program ends; `nil` by default. When a stream that is not read is ended, by
    /// ``APIClient/cancelAll()`` or its deadline, it is called where that happens. It must not block, because the call
    /// waits for it.
    /// ``APIClient/diagnostics`` is the stream of the same events.
    public var observe: (@Sendable (ClientEvent) -> Void)?

    /// The number of characters of each body that events show, for a look at what an API sends; 0, none, by default.
    ///
    /// JSON and forms that are in memory are shown. Values with well-known names of secrets, those in ``secretNames``,
    /// and the secrets that the call has sent are redacted. Everything else is shown, such as names and addresses of
    /// people, and what is written within a text, such as a GraphQL query without variables: do not leave it on where
    /// logs are kept.
    public var bodiesInEvents = 0

    /// Whether calls whose requests are equal share one while it is under way; `false` by default. See
    /// <doc:Caching#One-request-for-equal-calls>.
    public var sharesEqualRequests = false
    /// Middleware that runs once per call, outermost first; none by default. It runs once more if a stored response
    /// cannot be decoded, and the server is asked.
    public var callMiddlewares: [any Middleware] = []
    /// Middleware that runs once per send, outermost first; none by default.
    public var attemptMiddlewares: [any Middleware] = []
    /// A certificate of a server under development to trust at some hosts; `nil`, none, by default.
    ///
    ///     $0.developmentCertificate = .file("localhost.pem", hosts: ["localhost"])
    ///
    /// It is for the platform's own transport. A ``CurlTransport`` or a ``URLSessionTransport`` that you create has the
    /// same setting in its options; with such a one, and this here, every call fails with `.invalidRequest`. Any other
    /// transport, such as one for tests, ignores it.
    public var developmentCertificate: DevelopmentCertificate?
    /// The transport that sends the requests; `nil`, the platform's own, by default: on Linux one that the clients of a
    /// process share. A client never shuts down a transport that you pass.
    public var transport: (any Transport)?
    /// The check for a network; `nil`, the transport's own check, by default.
    public var connectivity: Connectivity?
    /// What a call does without a network; it fails at once by default.
    public var offline: OfflineRule = .fail
    /// Whether plain http to another machine is allowed; `false` by default. Tokens are sent there only if
    /// ``cleartextHosts`` names it.
    public var allowsCleartext = false
    /// The hosts to which everything may be sent over plain http, credentials too; none by default.
    ///
    ///     $0.cleartextHosts = ["orders.default.svc"]
    ///
    /// It is for hosts between which and this program something else encrypts, such as the sidecars of a service mesh.
    /// Each is named whole, without a port; there are no patterns.
    public var cleartextHosts: Set<String> = []
    /// The source of time; the system's clocks by default.
    public var time: any TimeSource = .system

    private static var sortingEncoder: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return encoder
    }

    private static let defaultLimitNotice = Notice(
        "calls wait, because a client sends 5 requests per second by default; set `$0.rateLimit` to the server's limit "
            + "or to `.unlimited`, or share a limiter with `$0.limiter`")

    /// Creates the default configuration for that server.
    public init(_ environment: ServerEnvironment) {
        self.environment = environment
    }

    /// A description of what is wrong with the configuration; `nil` if it is valid.
    var problem: String? {
        if limiter == nil, let problem = rateLimit.problem { return problem }
        if let problem = limiter?.limit.problem { return problem }
        if let problem = credentials?.problem { return problem }
        if tokens != nil, credentials?.isAuthorization == true {
            return "`credentials` and `tokens`, which both set the Authorization header"
        }
        if let problem = cookies?.sites.problem { return problem }
        if let problem = cache?.problem { return problem }
        if let problem = CleartextRule.problem(with: cleartextHosts) { return problem }
        if let problem = developmentCertificate?.problem { return problem }
        if developmentCertificate != nil, transport?.hasDevelopmentOption == true {
            return "`developmentCertificate`, which a transport of your own has in its options"
        }
        if let problem = concurrency.problem ?? servers.problem ?? breaker.problem ?? hedging.problem { return problem }
        if longestServerPause < .zero {
            let pause = longestServerPause.displayText
            return "a negative longest pause of \(pause); use zero to ignore the pauses that a server requests"
        }
        if case .wait(let limit) = offline.kind, limit < .zero {
            return "a negative wait of \(limit.displayText) for the network"
        }
        if bodiesInEvents < 0 { return "\(bodiesInEvents) characters of each body in events; use 0 for none" }
        if responseByteLimit <= 0 {
            return "a limit of \(responseByteLimit) bytes for a response; it must be 1 or more"
        }
        return nil
    }

    /// Returns the rules of one call: its own options, or else the configuration's.
    func rules(for options: CallOptions) -> CallRules {
        CallRules(options, over: defaults, isCached: cache != nil, time: time)
    }

    /// The options of a call that has none of its own.
    private var defaults: CallOptions {
        var options = CallOptions()
        options.authentication = tokens == nil ? .none : .required
        options.timeout = .init(duration: timeout)
        options.deadline = .init(duration: deadline)
        options.retry = retry
        options.redirects = redirects
        options.cache = cachePolicies
        return options
    }
}

extension Configuration {
    /// What may be sent unencrypted.
    var cleartext: CleartextRule { CleartextRule(isAllowed: allowsCleartext, hosts: cleartextHosts) }

    /// Returns whether a call with those rules is signed, as far as that is known before it runs.
    func signs(_ rules: CallRules) -> Bool {
        tokens != nil && rules.authentication != .none
    }
}

extension Configuration: OpaqueReflectable {
    /// The server, the rate limit, the timeout and the number of attempts, without secrets.
    public var description: String {
        let timeout = timeout?.displayText ?? "none"
        return "\(environment), \(limiter?.limits ?? "\(rateLimit)"), timeout \(timeout), \(retry.attempts) attempts"
    }
}

// MARK: Old names

extension Configuration {
    /// A closure that reads your own error type from each response that is an error.
    @available(*, deprecated, message: "use errorDetails = .decoding(_:below:), or .reading { … }")
    public var rejectionDetails: (@Sendable (Rejection) -> (any Sendable)?)? {
        get { errorDetails.read }
        set { errorDetails = newValue.map(ErrorDetails.reading) ?? .none }
    }
}
