/// What every payload of a `ServiceError` knows about the call that failed.
struct FailedCall: Sendable, Hashable {
    /// The method and the path of the call; `nil` if no client has thrown the error. Comparisons ignore it, so a test
    /// need not repeat it.
    var name = Uncompared<String>()
    /// The origin that the last request was sent to, or that of the client's server; `nil` if it has no valid URL.
    var server = Uncompared<String>()
    /// The number of attempts.
    var attempts = Uncompared<Int>()
    /// Whether the server may have acted on an earlier attempt than the last.
    var mayHaveActedBefore = Uncompared<Bool>()
    /// Whether the server may have received a request of the call, and acted on it.
    var mayHaveReachedServer: Bool

    /// Where the call went, and how often, for the end of a line; empty if that is not known.
    var circumstances: String {
        let times = attempts.value.flatMap { $0 > 1 ? "after \($0) attempts" : nil }
        let facts = [server.value, times].compactMap(\.self)
        return facts.isEmpty ? "" : " [\(facts.joined(separator: ", "))]"
    }
}

/// A part of a value that comparisons ignore.
struct Uncompared<Part: Sendable>: Sendable, Hashable {
    var value: Part?

    static func == (left: Self, right: Self) -> Bool { true }
    func hash(into hasher: inout Hasher) {}
}

/// The payload of a `ServiceError`. Its description is for developers.
protocol ErrorPayload: CustomStringConvertible {
    var call: FailedCall { get set }
}

extension ErrorPayload {
    fileprivate func with(_ call: FailedCall) -> Self {
        var copy = self
        copy.call = call
        return copy
    }
}

extension ServiceError {
    /// The payload; `nil` for a case without one.
    var payload: (any ErrorPayload)? {
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
    }

    private func with(_ call: FailedCall) -> ServiceError {
        switch self {
        case .timedOut(let timeout): .timedOut(timeout.with(call))
        case .invalidRequest(let invalid): .invalidRequest(invalid.with(call))
        case .sessionExpired(let expiry): .sessionExpired(expiry.with(call))
        case .rateLimited(let limited): .rateLimited(limited.with(call))
        case .rejected(let rejection): .rejected(rejection.with(call))
        case .serverFailure(let rejection): .serverFailure(rejection.with(call))
        case .decodingFailed(let failure): .decodingFailed(failure.with(call))
        case .transport(let failure): .transport(failure.with(call))
        case .paging(let fault): .paging(fault.with(call))
        case .cancelled, .noInternetConnection, .signInRequired: self
        }
    }

    /// Returns the same error of that call, unless it names one already.
    func naming(
        _ name: String, at server: String? = nil, after attempts: Int? = nil, mayHaveActedBefore: Bool = false
    ) -> ServiceError {
        guard var call = payload?.call, call.name.value == nil else { return self }
        (call.name.value, call.server.value, call.attempts.value) = (name, server, attempts)
        call.mayHaveActedBefore.value = mayHaveActedBefore
        return with(call)
    }

    /// Returns the same error for a call on which the server may have acted before.
    func markedAsSent(_ method: HTTPMethod) -> ServiceError {
        // That case says that nothing was sent. If the request only reads, the missing network is what matters.
        if self == .noInternetConnection, !method.isSafe {
            return .transport(TransportFailure(.unreachable, "no internet connection", mayHaveReachedServer: true))
        }
        guard var call = payload?.call else { return self }
        call.mayHaveReachedServer = true
        return with(call)
    }
}
