// Failures that may go away by themselves, defined in one place for retries, for the errors' own property, and for the
// advice in their descriptions.

extension ServiceError {
    /// Whether the same call may succeed a little later without any change.
    public var isTransient: Bool {
        switch self {
        case .noInternetConnection, .timedOut, .rateLimited: true
        case .rejected(let rejection), .serverFailure(let rejection): HTTPStatus.isTransient(rejection.status)
        case .transport(let failure): failure.isTransient
        case .cancelled, .invalidRequest, .signInRequired, .sessionExpired, .decodingFailed, .paging: false
        }
    }

    /// Whether another attempt of the same call may succeed: the connection failed, or the send took too long.
    var isWorthRetrying: Bool {
        switch self {
        case .timedOut(let timeout): timeout.bound == .attempt
        // To try again at once would only make a longer queue, or ask a server that is not to be asked.
        case .transport(let failure):
            failure.isTransient && failure.kind != .overloaded && failure.kind != .circuitOpen
        default: false
        }
    }

    /// Whether a download or an event stream that ended so may go on with another connection.
    var isWorthReconnecting: Bool {
        switch self {
        case .timedOut(let timeout): timeout.bound != .deadline
        case .transport(let failure): failure.isTransient
        case .noInternetConnection, .rateLimited, .serverFailure: true
        default: false
        }
    }
}

extension TransportFailure {
    /// Whether the failure may go away soon.
    fileprivate var isTransient: Bool { kind.isTransient && isLasting.value != true }
}

extension TransportFailure.Kind {
    /// Whether the failure may go away soon. A refused certificate or a body that is too large will not.
    var isTransient: Bool {
        switch self {
        case .dns, .refused, .unreachable, .reset, .tls, .proxy, .truncated, .outOfResources, .overloaded, .circuitOpen,
            .storage:
            true
        case .untrustedCertificate, .malformed, .tooLarge, .unsupported, .unavailable, .file, .digestMismatch,
            .requestBody, .middleware, .other:
            false
        }
    }
}
