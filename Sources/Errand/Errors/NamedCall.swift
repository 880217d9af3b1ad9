// Every payload of a `ServiceError` knows the call that failed. Comparisons ignore it, so a test need not repeat it.

private protocol Payload {
    /// The method and the path of the call; `nil` if no client has thrown the error.
    var call: Uncompared<String> { get set }
}

extension Payload {
    fileprivate func naming(_ call: String) -> Self {
        var copy = self
        copy.call.value = copy.call.value ?? call
        return copy
    }
}

extension Timeout: Payload {}
extension InvalidRequest: Payload {}
extension SessionExpiry: Payload {}
extension RateLimited: Payload {}
extension Rejection: Payload {}
extension DecodingFailure: Payload {}
extension TransportFailure: Payload {}
extension PagingFault: Payload {}

extension ServiceError {
    /// The method and the path of the call that failed, such as `GET users/7`; `nil` for a case without a payload, and
    /// for an error that no client has thrown. If a token could not be refreshed, it is the call for the refresh.
    public var call: String? {
        let payload: (any Payload)? =
            switch self {
            case .timedOut(let timeout): timeout
            case .invalidRequest(let invalid): invalid
            case .sessionExpired(let expiry): expiry
            case .rateLimited(let limited): limited
            case .rejected(let rejection), .serverFailure(let rejection): rejection
            case .decodingFailed(let failure): failure
            case .transport(let failure): failure
            case .paging(let fault): fault
            case .cancelled, .noInternetConnection, .signInRequired: nil
            }
        return payload?.call.value
    }

    /// Returns the same error of that call, unless it names one already.
    func naming(_ call: String) -> ServiceError {
        switch self {
        case .timedOut(let timeout): .timedOut(timeout.naming(call))
        case .invalidRequest(let invalid): .invalidRequest(invalid.naming(call))
        case .sessionExpired(let expiry): .sessionExpired(expiry.naming(call))
        case .rateLimited(let limited): .rateLimited(limited.naming(call))
        case .rejected(let rejection): .rejected(rejection.naming(call))
        case .serverFailure(let rejection): .serverFailure(rejection.naming(call))
        case .decodingFailed(let failure): .decodingFailed(failure.naming(call))
        case .transport(let failure): .transport(failure.naming(call))
        case .paging(let fault): .paging(fault.naming(call))
        case .cancelled, .noInternetConnection, .signInRequired: self
        }
    }
}
