#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The rules of a client. They are fixed when the client is made.
public struct Configuration: Sendable {
    /// Which server the client calls.
    public var environment: ServerEnvironment
    /// Headers that every call carries; an endpoint's own win.
    public var headers: HTTPHeaders = [:]
    /// Headers that are asked for at each call; they win over `headers`.
    public var headersForEachCall: (@Sendable () -> HTTPHeaders)?
    /// Parameters that every call carries: in the JSON body of an endpoint made of parameters that has one, otherwise
    /// in the query. An endpoint's own win.
    public var parameters: Parameters = [:]
    /// Parameters that are asked for at each call; they win over `parameters`.
    public var parametersForEachCall: (@Sendable () -> Parameters)?
    /// Further names whose values are secret: of headers, of parameters of a query or a form, and of members of JSON.
    ///
    /// Errand masks such values, like those whose names are secret by custom, in descriptions, errors, events and cURL
    /// text. Case and separators do not matter: `partner_code` also names `partnerCode` and `Partner-Code`. A header
    /// that is named here follows no redirect to another origin.
    public var secretNames: Set<String> = []

    /// The tokens that sign the calls; `nil` for a server that knows no users.
    public var tokens: TokenStore?
    /// The limit that the client keeps to.
    public var rateLimit: RateLimit = .requests(5, per: .seconds(1))
    /// A limiter to share with other clients; it takes the place of `rateLimit`.
    public var limiter: RateLimiter?
    /// The longest pause of the limiter that a response of the server may begin. A longer one is ignored and reported
    /// as ``ClientEvent/Kind/ignoredPause(_:)``, so that one wrong header cannot stop the client for days.
    public var longestServerPause: Duration = .seconds(3600)
    /// When calls are tried again.
    public var retry: RetryPolicy = .standard
    /// The limit of one attempt, its body included: 30 seconds by default.
    ///
    /// Zero lets nothing be sent; a few hundred years are no limit.
    public var timeout: Duration = .seconds(30)
    /// The limit of a whole call: waiting, refreshing, backing off and all attempts; `nil` for none.
    public var deadline: Duration?

    /// Encodes the bodies of requests.
    public var encoder: any RequestEncoder = JSONEncoder()
    /// Decodes the bodies of answers.
    public var decoder: any ResponseDecoder = JSONDecoder()
    /// The content types in which an answer is decoded; `*` stands for any part. An answer that does not say its type
    /// is decoded.
    public var acceptedContentTypes: [String] = ["application/json", "text/json", "application/*+json"]
    /// How many bytes an answer may have, decompressed.
    public var responseByteLimit: Int = 64 << 20

    /// Reads an error of your own type from each rejection, in one place. ``Rejection/details(as:)`` returns it.
    ///
    ///     $0.rejectionDetails = { try? $0.decodeBody(as: Problem.self) }
    public var rejectionDetails: (@Sendable (Rejection) -> (any Sendable)?)?
    /// Is called for each event, in the task of the call and in order, so that no event is lost when a short program
    /// ends. It must not block: the call goes on when it returns. ``APIClient/events`` is the stream of the same events.
    public var observe: (@Sendable (ClientEvent) -> Void)?

    /// The user's middlewares around each call, the outermost first.
    public var callMiddlewares: [any Middleware] = []
    /// The user's middlewares around each send, the outermost first.
    public var attemptMiddlewares: [any Middleware] = []
    /// What sends the requests; `nil` for the platform's own. The client shuts down a transport that it made itself,
    /// never one it was given.
    public var transport: (any Transport)?
    /// Whether there is a network; `nil` for the transport's own way to find out.
    public var connectivity: Connectivity?
    /// What a call does when there is none.
    public var offline: OfflineRule = .fail
    /// Whether plain http to another machine is allowed. A token is not sent there even then.
    public var allowsCleartext = false
    /// The clock.
    public var time: any TimeSource = .system

    /// The default rules for that server.
    public init(_ environment: ServerEnvironment) {
        self.environment = environment
    }

    /// What is wrong with the rules, if anything is.
    var problem: String? {
        if limiter == nil, let problem = rateLimit.problem { return problem }
        if let problem = limiter?.limit.problem { return problem }
        if longestServerPause < .zero {
            let pause = longestServerPause.displayText
            return "a negative longest pause of \(pause); use zero to ignore what a server asks for"
        }
        if responseByteLimit <= 0 {
            return "a limit of \(responseByteLimit) bytes for an answer; it must be 1 or more"
        }
        return nil
    }

    /// The rules of one call: its own, or these.
    func rules(for options: CallOptions) -> CallRules {
        let (timeout, deadline) = (options.timeout ?? timeout, options.deadline ?? deadline)
        let retry = options.retry ?? retry
        return CallRules(
            authentication: options.authentication ?? (tokens == nil ? .none : .required), timeout: timeout,
            deadline: deadline, retry: retry, idempotencyKey: options.idempotencyKey.map { $0.value(time: time) },
            permits: options.permits, problem: problem(timeout, deadline) ?? retry.problem)
    }

    private func problem(_ timeout: Duration, _ deadline: Duration?) -> String? {
        if timeout < .zero { return "a negative timeout of \(timeout.displayText)" }
        if let deadline, deadline < .zero { return "a negative deadline of \(deadline.displayText)" }
        guard case .wait(let limit) = offline, limit < .zero else { return nil }
        return "a negative wait of \(limit.displayText) for the network"
    }
}

extension Configuration {
    /// Whether a call of those rules is signed, as far as it can be told before it is made.
    func signs(_ rules: CallRules) -> Bool {
        tokens != nil && rules.authentication != .none
    }
}

extension CallOptions.IdempotencyKey {
    fileprivate func value(time: any TimeSource) -> String {
        switch self {
        case .unique: time.randomUUID().uuidString
        case .fixed(let key): key
        }
    }
}

extension ServiceError {
    static func badSetting(_ reason: String) -> ServiceError {
        .invalidRequest(InvalidRequest(.configuration, reason))
    }
}

extension Configuration: CustomStringConvertible, CustomReflectable {
    /// The rules that a person would ask for first; no secret.
    public var description: String {
        "\(environment), \(limiter?.limit ?? rateLimit), timeout \(timeout.displayText), \(retry.attempts) attempts"
    }
    /// Shows the description only: headers and parameters may be secret.
    public var customMirror: Mirror { Mirror(self, children: ["rules": description]) }
}
