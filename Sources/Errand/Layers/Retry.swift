/// Tries a call again where that can help and can do no harm.
struct Retry: Layer {
    let quota: RetryQuota

    func intercept(_ request: HTTPRequest, _ context: CallContext, next: @escaping Next) async throws(ServiceError)
        -> HTTPResponse
    {
        do throws(ServiceError) {
            return try await attempts(request, context, next: next)
        } catch {
            // The last attempt need not have been the one that reached the server.
            throw context.call.read { $0.mayHaveActed } ? error.afterSending(request.method) : error
        }
    }

    private func attempts(_ request: HTTPRequest, _ context: CallContext, next: Next) async throws(ServiceError)
        -> HTTPResponse
    {
        let call = context.call
        var paid: Int?
        while true {
            call.update { state in
                state.attempts += 1
                state.lacksToken = false
            }
            let outcome: Result<HTTPResponse, ServiceError>
            do throws(ServiceError) {
                outcome = .success(try await next(request, context))
            } catch {
                outcome = .failure(error)
            }
            if case .success(let response) = outcome, !RetryPolicy.isTransient(status: response.status) {
                if response.status < 400 { quota.deposit(paid) }
                return response
            }
            guard let retry = retry(after: outcome, of: request, in: call) else { return try outcome.get() }
            paid = retry.paid
            if outcome.mayHaveReachedServer { call.update { $0.mayHaveActed = true } }
            call.tell(.retrying(after: retry.reason, pause: retry.pause))
            call.note(.backingOff)
            try await call.leashed { () async throws(ServiceError) in try await call.time.sleep(for: retry.pause) }
        }
    }

    private struct Decision {
        var pause: Duration
        var paid: Int
        var reason: ClientEvent.RetryReason
    }

    /// Whether there is another attempt, and after which pause. The quota is asked last, for it is what is spent.
    private func retry(
        after outcome: Result<HTTPResponse, ServiceError>, of request: HTTPRequest, in call: Call
    ) -> Decision? {
        let policy = call.rules.retry
        let (attempts, lacksToken, mayHaveActed) = call.read { ($0.attempts, $0.lacksToken, $0.mayHaveActed) }
        guard attempts < policy.attempts, !lacksToken, request.body?.isReplayable ?? true else { return nil }
        let isSafe = request.isRepeatable
        let reason: ClientEvent.RetryReason
        let pause: Duration
        switch outcome {
        case .success(let response):
            guard isSafe else { return nil }
            reason = .status(response.status)
            if let wait = ServerPacing.retryAfter(in: response.headers, date: call.time.date) {
                guard wait <= policy.patience else { return nil }
                pause = wait
            } else {
                pause = policy.backoff.pause(beforeRetry: attempts, random: call.time.randomFraction())
            }
        case .failure(let error):
            // It may have failed on the way to where a redirect led, which says nothing of the request itself.
            let mayBeDone = mayHaveActed || error.mayHaveReachedServer
            guard error.isWorthRetrying, isSafe || !mayBeDone else { return nil }
            reason = .failure(error)
            pause = policy.backoff.pause(beforeRetry: attempts, random: call.time.randomFraction())
        }
        guard call.time.now.advanced(by: pause) < call.deadline,
            let paid = quota.withdraw(afterThrottle: reason == .status(429))
        else { return nil }
        return Decision(pause: pause, paid: paid, reason: reason)
    }
}

extension Result where Success == HTTPResponse, Failure == ServiceError {
    fileprivate var mayHaveReachedServer: Bool {
        switch self {
        case .success: true
        case .failure(let error): error.mayHaveReachedServer
        }
    }
}

extension ServiceError {
    /// Whether another attempt may fare better: the connection failed, or the attempt took too long.
    fileprivate var isWorthRetrying: Bool {
        switch self {
        case .timedOut(let timeout): timeout.bound == .attempt
        case .transport(let failure): failure.kind.isTransient
        default: false
        }
    }
}
