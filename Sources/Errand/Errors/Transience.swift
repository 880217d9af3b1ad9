// What may be gone a little later without anybody changing anything, in one place: what is tried again, what an error
// says of itself, and what it advises.

extension ServiceError {
    /// Whether the same call may succeed a little later without anybody changing anything.
    public var isTransient: Bool {
        switch self {
        case .noInternetConnection, .timedOut, .rateLimited: true
        case .rejected(let rejection), .serverFailure(let rejection): HTTPStatus.isTransient(rejection.status)
        case .transport(let failure): failure.kind.isTransient
        case .cancelled, .invalidRequest, .signInRequired, .sessionExpired, .decodingFailed, .paging: false
        }
    }

    /// Whether another attempt of the same call may fare better: the connection failed, or the attempt took too long.
    var isWorthRetrying: Bool {
        switch self {
        case .timedOut(let timeout): timeout.bound == .attempt
        case .transport(let failure): failure.kind.isTransient
        default: false
        }
    }
}

extension HTTPStatus {
    /// Whether an answer of that status may be another one a little later.
    static func isTransient(_ status: Int) -> Bool {
        switch status {
        case 408, 429, 500, 502, 503, 504: true
        default: false
        }
    }
}

extension TransportFailure.Kind {
    /// Whether it may be gone a moment later. A refused certificate or an oversized body will be the same again.
    var isTransient: Bool {
        switch self {
        case .dns, .refused, .unreachable, .reset, .tls, .proxy, .truncated, .outOfResources, .storage: true
        case .untrustedCertificate, .malformed, .tooLarge, .unsupported, .unavailable, .middleware, .other: false
        }
    }
}
