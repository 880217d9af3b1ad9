/// Something that happened to a call of a client. Secrets in URLs are redacted, and errors come without the body and
/// the headers of the response. Paths are shown as they are.
///
/// A refresh of the cache that runs beside the calls has a number of its own, and neither begins nor ends with an
/// event. A request that calls share has the number of the call that started it, also after that call has ended. So a
/// listener that keeps something for each call adds it when the call begins, and ignores numbers that it does not know.
public struct ClientEvent: Sendable, Hashable {
    /// What happened.
    @nonexhaustive public enum Kind: Sendable, Hashable {
        /// The call began.
        case began
        /// The call waits for the response to an equal request that is under way, which the call with this number has
        /// begun. See ``Configuration/sharesEqualRequests``.
        case joined(call: Int)
        /// The call has waited for a permit of the rate limiter, and has received it.
        case waitedForPermit(Duration)
        /// The call has waited for an access token, and has received it.
        case waitedForToken(Duration)
        /// The transport was given a request.
        case sent(SentRequest, attempt: Int)
        /// The beginning of the body that was given to the transport, redacted. See ``Configuration/bodiesInEvents``.
        case sentBody(String)
        /// A response arrived, with its timings if the transport reports them.
        case answered(status: Int, bytes: Int, after: Duration, timings: Timings?)
        /// The beginning of the body of the response, redacted. See ``Configuration/bodiesInEvents``.
        case answeredBody(String)
        /// The server asked for a pause that is longer than `Configuration.longestServerPause`. The client ignored it.
        case ignoredPause(Duration)
        /// The cache has answered, and nothing was sent.
        case answeredFromCache(CacheStatus)
        /// A send failed without a response.
        case failed(ServiceError, after: Duration)
        /// The client follows a redirect.
        case redirected(Int, to: String)
        /// The call is retried after a pause.
        case retrying(after: RetryReason, pause: Duration)
        /// A warning for a person. Once per process: the installed libcurl has known faults that a server can exploit,
        /// or calls wait because of the default rate limit; it is sent when it first matters while there are listeners.
        /// Once for each ``CookieJar``: its file could not be read or written. Once for each ``HTTPCache``: its folder
        /// could not be used as it was, or nothing is stored because of middleware. For each response of an
        /// authorization server that has something that cannot be read.
        case warned(String)
        /// The number of the transport's threads has changed: how many requests each of them has. A ``CurlTransport``
        /// reports it once for each change, with the next call of a client that has listeners.
        case threads([Int])
        /// The server with that base URL has failed or asked for a pause, and is not asked for that long.
        case serverSetAside(String, for: Duration)
        /// The server with that base URL is not asked for that long, and calls that can go to no other fail. Its
        /// ``CircuitBreaker`` has opened, or it was the last of several and has failed twenty times in a row.
        case breakerOpened(String, for: Duration)
        /// The response was late, so the request was sent a second time, to the server with that base URL. See
        /// ``HedgingPolicy``.
        case hedged(String)
        /// The server with that base URL, which was set aside or whose breaker was open, has answered.
        case serverReturned(String)
        /// The server has announced that the resource will not stay. Once for each endpoint of a server and process, of
        /// at most 1,000; endpoints are told apart by their methods and paths, in which all interpolated values count
        /// as equal.
        case deprecated(Deprecation)
        /// The call ended with a value.
        case succeeded(attempts: Int, after: Duration)
        /// The call ended with an error.
        case ended(ServiceError, attempts: Int, after: Duration)
    }

    /// The reason for a retry.
    @nonexhaustive public enum RetryReason: Sendable, Hashable {
        /// A response with this status.
        case status(Int)
        /// A send that failed without a response.
        case failure(ServiceError)
    }

    /// A description of a request that is safe to show.
    public struct SentRequest: Sendable, Hashable {
        /// The method.
        public let method: HTTPMethod
        /// The URL without secret parameters.
        public var url: String { fullURL.description }
        /// The number of bytes in the body; `nil` without a body, or if it is not known.
        public let bodyLength: Int?
        /// Described only when somebody looks: most listeners do not.
        fileprivate let fullURL: HTTPURL
    }

    /// The number of the call, unique within its client.
    public let call: Int
    /// The method and the path of the call.
    public let endpoint: String
    /// When it happened.
    public let at: Instant
    /// What happened.
    public let kind: Kind

    /// The error with which the call ended; `nil` for any other event. Use it to show failures in one place. It has
    /// neither the body nor the headers of the response, which the error that the caller receives has.
    public var failure: ServiceError? {
        guard case .ended(let error, _, _) = kind else { return nil }
        return error
    }
}

extension ClientEvent.Kind {
    /// The same event without the content of a response, which may be secret.
    var withoutContent: Self {
        switch self {
        case .failed(let error, let pause): .failed(error.withoutContent, after: pause)
        case .retrying(.failure(let error), let pause): .retrying(after: .failure(error.withoutContent), pause: pause)
        case .ended(let error, let attempts, let pause):
            .ended(error.withoutContent, attempts: attempts, after: pause)
        default: self
        }
    }
}

extension ServiceError {
    /// The same error without the headers and the body of the response.
    fileprivate var withoutContent: ServiceError {
        switch self {
        case .rejected(let rejection): .rejected(rejection.withoutContent)
        case .serverFailure(let rejection): .serverFailure(rejection.withoutContent)
        default: self
        }
    }
}

extension Rejection {
    fileprivate var withoutContent: Rejection {
        var copy = Rejection(
            status: status, message: message, code: code, fieldErrors: fieldErrors, retryAfter: retryAfter)
        (copy.call, copy.cacheStatus) = (call, cacheStatus)
        return copy
    }
}

extension HTTPRequest {
    var redacted: ClientEvent.SentRequest {
        ClientEvent.SentRequest(method: method, bodyLength: body?.length, fullURL: url)
    }
}
