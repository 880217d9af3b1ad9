#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The error of a call, as an enumeration you can switch over.
///
/// `print` shows a line for developers, which names the call. ``localizedDescription`` is for the user. Both show no
/// secrets of the call and no control characters, whatever the server sent. ``Rejection/body`` and
/// ``Rejection/headers`` hold the response unredacted, so that you can decode it; printing or dumping an error shows
/// only the names of the headers and the size of the body, and an event of the client carries neither.
public indirect enum ServiceError: Error, Sendable, Hashable {
    /// The task was canceled, by its owner or by `cancelAll()`.
    case cancelled
    /// There is no network, so nothing was sent, or only an earlier attempt of a request that reads.
    case noInternetConnection
    /// The timeout of a send or the deadline of the call has passed.
    case timedOut(Timeout)
    /// The request is invalid, and was not sent. `mayHaveReachedServer` says whether an earlier request of the same
    /// call was sent.
    case invalidRequest(InvalidRequest)
    /// The endpoint needs a signed-in user, and no user is signed in. Nothing was sent.
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

    /// The server's response, if it refused the request, failed, or limited the rate of requests; `nil` otherwise.
    public var rejection: Rejection? {
        switch self {
        case .rejected(let rejection), .serverFailure(let rejection): rejection
        case .rateLimited(let limited): limited.rejection
        default: nil
        }
    }

    /// Returns your own error type, as ``Configuration/errorDetails`` has read it from the response; `nil` if there
    /// is none of that type.
    public func details<Details>(as type: Details.Type = Details.self) -> Details? { rejection?.details(as: type) }

    /// The name of the case, such as `rateLimited`: a word for logs and JSON, which stays the same in later versions.
    public var name: String {
        switch self {
        case .cancelled: "cancelled"
        case .noInternetConnection: "noInternetConnection"
        case .timedOut: "timedOut"
        case .invalidRequest: "invalidRequest"
        case .signInRequired: "signInRequired"
        case .sessionExpired: "sessionExpired"
        case .rateLimited: "rateLimited"
        case .rejected: "rejected"
        case .serverFailure: "serverFailure"
        case .decodingFailed: "decodingFailed"
        case .transport: "transport"
        case .paging: "paging"
        }
    }

    /// Whether a screen shows nothing for this error: the task was canceled, or the user has signed out during the
    /// call.
    public var needsNoMessage: Bool {
        switch self {
        case .cancelled: true
        case .sessionExpired(let expiry): expiry.reason == .signedOut
        default: false
        }
    }

    /// Whether the user has to sign in before the call can succeed: nobody is signed in, or the session is over and
    /// cannot be renewed, or what was saved of it is damaged.
    ///
    /// It is `false` for the other reasons of `.sessionExpired`: the user has just signed out, somebody else is signed
    /// in by now, or a later call may use the session again. It is also `false` for a 401, which a server may send for
    /// other reasons, such as a wrong password.
    public var needsSignIn: Bool {
        switch self {
        case .signInRequired: true
        case .sessionExpired(let expiry): [.refreshRefused, .notRefreshable, .damaged].contains(expiry.reason)
        default: false
        }
    }

    /// How long to wait before another call, as the server or the client's own limiter asks.
    public var retryAfter: Duration? {
        switch self {
        case .rateLimited(let limited): limited.retryAfter
        case .rejected(let rejection), .serverFailure(let rejection): rejection.retryAfter
        case .transport(let failure): failure.retryAfter
        default: nil
        }
    }

    /// Whether the server may have received the request, and acted on it, in any attempt of the call. It is `false` for
    /// `.noInternetConnection`: only a request that reads may have been sent before, such as a GET.
    public var mayHaveReachedServer: Bool { payload?.call.mayHaveReachedServer ?? (self == .cancelled) }

    /// The method and the path of the call that failed, such as `GET users/7`; `nil` for a case without a payload, and
    /// for an error that no client has thrown. If a token could not be refreshed, it is the call for the refresh.
    public var call: String? { payload?.call.name.value }
}

extension ServiceError: LocalizedError, CustomStringConvertible, CustomDebugStringConvertible {
    /// A sentence for the user, and often a second one with advice: the ``serverMessage`` if there is one, otherwise
    /// ``sentences`` in the user's language.
    ///
    /// The sentences contain no address, no path, no code and no other words for developers; those are in
    /// ``description``. Errand has them in English and German; an app adds its own languages as
    /// <doc:HandlingErrors#Sentences-in-other-languages> shows. A server's message is shown as the server wrote it. If
    /// yours writes them for developers, show ``sentences`` instead.
    public var localizedDescription: String { serverMessage ?? sentences.inUserLanguage }

    /// A sentence for the user, the same as ``localizedDescription``.
    public var errorDescription: String? { localizedDescription }

    /// A line for developers, which `print` shows: the call, the case, the status and the message, the server, and the
    /// attempts if there were several. A case without a payload shows only itself.
    ///
    /// ```text
    /// GET users/7: rejected(404: There is no such user) [https://api.example.com]
    /// ```
    public var description: String {
        "\(call.map { "\($0): " } ?? "")\(summary)\(payload?.call.circumstances ?? "")".printable
    }

    /// The same line.
    public var debugDescription: String { description }

    /// What happened, for developers, without the case.
    var detail: String { payload?.description ?? summary }

    /// The case with its payload, as text.
    var summary: String {
        switch self {
        case .cancelled, .noInternetConnection, .signInRequired: name
        case .timedOut(let timeout): "\(name)(\(timeout))"
        case .invalidRequest(let invalid): "\(name)(\(invalid.subject): \(invalid.reason))"
        case .sessionExpired(let expiry): "\(name)(\(expiry.reason): \(expiry))"
        case .rateLimited(let limited): "\(name)(\(limited))"
        case .rejected(let rejection), .serverFailure(let rejection): "\(name)(\(rejection.status): \(rejection))"
        case .decodingFailed(let failure): "\(name)(\(failure))"
        case .transport(let failure): "\(name)(\(failure.kind.rawValue): \(failure))"
        case .paging(let fault): "\(name)(\(fault.kind.rawValue): \(fault))"
        }
    }
}
