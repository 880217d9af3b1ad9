#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The error of a call, as an enumeration you can switch over.
///
/// `print` shows a line for developers, which names the call. ``localizedDescription`` is a sentence for people. Both
/// show no secrets of the call and no control characters, whatever the server sent. ``Rejection/body`` and
/// ``Rejection/headers`` hold the response unredacted, so that you can decode it; printing or dumping an error shows
/// only the names of the headers and the size of the body, and an event of the client carries neither.
public indirect enum ServiceError: Error, Sendable, Hashable {
    /// The task was cancelled, by its owner or by `cancelAll()`.
    case cancelled
    /// There is no network, so nothing was sent, or only an earlier attempt of a request that reads.
    case noInternetConnection
    /// The timeout of a send or the deadline of the call has passed.
    case timedOut(Timeout)
    /// The request is invalid, and was not sent. `mayHaveReachedServer` says whether an earlier request of the same
    /// call was sent.
    case invalidRequest(InvalidRequest)
    /// The endpoint needs a signed-in user, and nobody is signed in. Nothing was sent.
    case signInRequired
    /// The session ended or changed during the call, or cannot be used. The reason says whether the user has to sign in
    /// again.
    case sessionExpired(SessionExpiry)
    /// The server responded with 429, or with a 403 whose headers name a rate limit, or the client's own limiter cannot
    /// grant a permit in time.
    case rateLimited(RateLimited)
    /// The server refused the request: any other 4xx, a redirect that was not followed, or another 3xx such as 304.
    case rejected(Rejection)
    /// The server failed: 5xx, or a status from 600 to 999.
    case serverFailure(Rejection)
    /// The response does not match the endpoint's response type.
    case decodingFailed(DecodingFailure)
    /// The network or the transport failed.
    case transport(TransportFailure)
    /// A paged list cannot be continued, although every call for a page has succeeded.
    case paging(PagingFault)
}

extension ServiceError {
    /// The status of the response; `nil` if there was none.
    public var status: Int? {
        switch self {
        case .rejected(let rejection), .serverFailure(let rejection): rejection.status
        case .rateLimited(let limited): limited.status
        case .sessionExpired(let expiry): expiry.status
        case .decodingFailed(let failure): failure.status
        case .cancelled, .noInternetConnection, .timedOut, .invalidRequest, .signInRequired, .transport, .paging: nil
        }
    }

    /// How long to wait before another call, as the server or the client's own limiter asks.
    public var retryAfter: Duration? {
        switch self {
        case .rateLimited(let limited): limited.retryAfter
        case .rejected(let rejection), .serverFailure(let rejection): rejection.retryAfter
        default: nil
        }
    }

    /// Whether the server may have received the request, and acted on it, in any attempt of the call. It is `false` for
    /// `.noInternetConnection`: only a request that reads may have been sent before, such as a GET.
    public var mayHaveReachedServer: Bool {
        switch self {
        case .noInternetConnection, .signInRequired: false
        case .invalidRequest(let invalid): invalid.mayHaveReachedServer
        case .sessionExpired(let expiry): expiry.mayHaveReachedServer
        case .rateLimited(let limited): limited.mayHaveReachedServer
        case .timedOut(let timeout): timeout.mayHaveReachedServer
        case .transport(let failure): failure.mayHaveReachedServer
        case .cancelled, .rejected, .serverFailure, .decodingFailed, .paging: true
        }
    }
}

extension ServiceError: LocalizedError, CustomStringConvertible, CustomDebugStringConvertible {
    /// A sentence for the user. It is the server's message if there is one.
    public var localizedDescription: String { sentence.printable }

    /// A sentence for the user, the same as ``localizedDescription``.
    public var errorDescription: String? { localizedDescription }

    /// A line for developers, which `print` shows: the call, the case, the status and the message.
    ///
    /// ```text
    /// GET users/7: rejected(404: There is no such user)
    /// ```
    public var description: String { "\(call.map { "\($0): " } ?? "")\(payload)".printable }

    /// The same line.
    public var debugDescription: String { description }

    private var sentence: String {
        switch self {
        case .cancelled: "The call was cancelled"
        case .noInternetConnection: "No internet connection"
        case .timedOut(let timeout): timeout.description
        case .invalidRequest(let invalid): invalid.description
        case .signInRequired: "You need to sign in first"
        case .sessionExpired(let expiry): expiry.description
        case .rateLimited(let limited): limited.description
        case .rejected(let rejection), .serverFailure(let rejection): rejection.description
        case .decodingFailed(let failure): failure.description
        case .transport(let failure): failure.description
        case .paging(let fault): fault.description
        }
    }

    /// The case with its payload.
    var payload: String {
        switch self {
        case .cancelled: "cancelled"
        case .noInternetConnection: "noInternetConnection"
        case .timedOut(let timeout): "timedOut(\(timeout))"
        case .invalidRequest(let invalid): "invalidRequest(\(invalid.subject): \(invalid.reason))"
        case .signInRequired: "signInRequired"
        case .sessionExpired(let expiry): "sessionExpired(\(expiry.reason): \(expiry))"
        case .rateLimited(let limited): "rateLimited(\(limited))"
        case .rejected(let rejection): "rejected(\(rejection.status): \(rejection))"
        case .serverFailure(let rejection): "serverFailure(\(rejection.status): \(rejection))"
        case .decodingFailed(let failure): "decodingFailed(\(failure))"
        case .transport(let failure): "transport(\(failure.kind.rawValue): \(failure))"
        case .paging(let fault): "paging(\(fault.kind.rawValue): \(fault))"
        }
    }
}

/// An error of the library that adds something to a `ServiceError`.
protocol ServiceErrorWrapper: Error {
    var error: ServiceError { get }
}

extension ServiceError {
    /// Translates an error of foreign code where it enters the library; `otherwise` maps any other error.
    ///
    /// A `CancellationError` means `.cancelled` only in a cancelled task, which is also how a running call is stopped.
    /// Foreign code may throw one for reasons of its own, and apps show nothing for `.cancelled`: then it counts as any
    /// other error.
    init(_ error: any Error, otherwise: (any Error) -> ServiceError) {
        switch error {
        case let error as ServiceError: self = error
        case let error as any ServiceErrorWrapper: self = error.error
        case is CancellationError where Task.isCancelled: self = .cancelled
        default: self = otherwise(error)
        }
    }
}

extension ServiceError {
    /// Returns the same error for a call on which the server may have acted before.
    func markedAsSent(_ method: HTTPMethod) -> ServiceError {
        switch self {
        case .invalidRequest(var invalid):
            invalid.mayHaveReachedServer = true
            return .invalidRequest(invalid)
        case .timedOut(var timeout):
            timeout.mayHaveReachedServer = true
            return .timedOut(timeout)
        case .rateLimited(var limited):
            limited.mayHaveReachedServer = true
            return .rateLimited(limited)
        case .sessionExpired(var expiry):
            expiry.mayHaveReachedServer = true
            return .sessionExpired(expiry)
        case .transport(var failure):
            failure.mayHaveReachedServer = true
            return .transport(failure)
        // That case says that nothing was sent. If the request only reads, the missing network is what matters.
        case .noInternetConnection where !method.isSafe:
            return .transport(TransportFailure(.unreachable, "no internet connection", mayHaveReachedServer: true))
        default: return self
        }
    }
}

/// Returns the name of an error of foreign code: its type, and its case if it is an enum. Its payload is left out,
/// because it may be secret.
func foreignName(of error: any Error) -> String {
    let mirror = Mirror(reflecting: error)
    let name = String(reflecting: type(of: error))
    guard mirror.displayStyle == .enum else { return name }
    return "\(name).\(mirror.children.first?.label ?? String(describing: error))"
}

extension ServiceError: CancellationFailure {}
