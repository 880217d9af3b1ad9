#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Retries a call if a retry can succeed and is safe.
struct Retry: Layer {
    let quota: RetryQuota
    /// The store whose session signs the call; `nil` if there is none.
    let tokens: TokenStore?

    func intercept(_ request: HTTPRequest, _ context: CallContext, next: @escaping Next) async throws(ServiceError)
        -> HTTPResponse
    {
        do throws(ServiceError) {
            return try await attempts(request, context, next: next)
        } catch {
            // An earlier attempt than the last may have reached the server.
            throw context.transmission.mayHaveActed ? error.markedAsSent(request.method) : error
        }
    }

    private func attempts(
        _ request: HTTPRequest, _ context: CallContext, next: Next
    ) async throws(ServiceError) -> HTTPResponse {
        var history = History()
        while true {
            context.transmission.beginAttempt()
            let end: Instant
            do throws(ServiceError) {
                let response = try await next(request, context)
                guard let next = pauseEnd(after: response, to: request, in: context.transmission, &history) else {
                    return response
                }
                end = next
            } catch {
                guard let next = pauseEnd(after: error, of: request, in: context.transmission, &history) else {
                    throw error
                }
                end = next
            }
            try await context.transmission.pause(until: end)
        }
    }

    /// What the attempts so far have cost, and how they failed.
    private struct History {
        var paid: Int?
        var timeouts = 0
    }

    /// Returns the end of the pause before another attempt; `nil` if there is none.
    ///
    /// Not inlined: what it needs would be part of the frame of every waiting call.
    @inline(never)
    private func pauseEnd(
        after response: HTTPResponse, to request: HTTPRequest, in transmission: Transmission, _ history: inout History
    ) -> Instant? {
        if response.status < 400 || transmission.rules.accepts(response.status) {
            // Nothing was sent for what the cache has answered, so it says nothing about the server.
            if !response.isFromCache { quota.deposit(history.paid) }
            return nil
        }
        if response.isFromCache { return nil }
        return pauseEnd(after: .success(response), of: request, in: transmission, &history)
    }

    @inline(never)
    private func pauseEnd(
        after error: ServiceError, of request: HTTPRequest, in transmission: Transmission, _ history: inout History
    ) -> Instant? {
        pauseEnd(after: .failure(error), of: request, in: transmission, &history)
    }

    private func pauseEnd(
        after outcome: Result<HTTPResponse, ServiceError>, of request: HTTPRequest, in transmission: Transmission,
        _ history: inout History
    ) -> Instant? {
        if outcome.timedOutAfterSending { history.timeouts += 1 }
        guard history.timeouts <= transmission.rules.retry.timeoutRetries || !outcome.timedOutAfterSending,
            let retry = retry(after: outcome, of: request, in: transmission)
        else { return nil }
        history.paid = retry.paid
        return transmission.beginPause(of: retry.pause, after: retry.reason)
    }

    /// Whether another attempt could not be signed. The call may have outlived its session until now.
    private func hasSessionEnded(of transmission: Transmission) -> Bool {
        guard let tokens, let session = transmission.session else { return false }
        return tokens.live.end(of: session) != nil
    }

    private struct Decision {
        var pause: Duration
        var paid: Int
        var reason: ClientEvent.RetryReason
    }

    /// Returns the pause before another attempt; `nil` if there is none. The quota comes last, because asking spends
    /// it.
    private func retry(
        after outcome: Result<HTTPResponse, ServiceError>, of request: HTTPRequest, in transmission: Transmission
    ) -> Decision? {
        // An attempt that failed because it received no token would only ask for one again.
        guard transmission.scope.reason == nil, transmission.phase != .waitingForToken,
            request.body?.isReplayable ?? true, !hasSessionEnded(of: transmission)
        else { return nil }
        let (policy, number) = (transmission.rules.retry, transmission.attempts)
        let isSafe = request.isRepeatable
        // Another server has not failed, and is asked without a pause.
        let goesOn = transmission.servers.goesOn
        let reason: ClientEvent.RetryReason
        let verdict: RetryPolicy.Verdict
        var wait = Duration.zero
        // Computed once, so that a closure sees the pause that the policy would make.
        var usual: Duration? = goesOn ? .zero : nil
        func usualPause() -> Duration {
            let pause = usual ?? transmission.usualPause(after: number, atLeast: wait)
            usual = pause
            return pause
        }
        switch outcome {
        case .success(let response):
            guard isSafe else { return nil }
            // A `Retry-After` of zero, or with a date that has passed by our clock, does not switch the backoff off.
            wait =
                goesOn
                ? .zero : RetryAfterHeaders.retryAfter(in: response.headers, date: transmission.time.date) ?? .zero
            let isTransient = policy.isTransient(response) || goesOn && HTTPStatus.meansUnreachable(response.status)
            verdict = policy.verdict(on: response, isTransient, attempt: number, pause: usualPause)
            reason = .status(response.status)
        case .failure(let error):
            guard error.isWorthRetrying || goesOn, isSafe || !transmission.mayHaveActed else { return nil }
            verdict = policy.verdict(on: error, attempt: number, pause: usualPause)
            reason = .failure(error)
        }
        guard case .isRepeated(let own) = verdict, own != nil || wait <= policy.maximumRetryAfter,
            let pause = transmission.pause(after: number, atLeast: wait, exactly: own ?? usual),
            let paid = outcome.wasTurnedAway || goesOn ? 0 : quota.withdraw(afterThrottle: outcome.wasThrottled)
        else { return nil }
        return Decision(pause: pause, paid: paid, reason: reason)
    }
}

extension RetryPolicy {
    /// Returns whether the attempt with that response is repeated, and after which pause, if that is safe.
    fileprivate func verdict(
        on response: HTTPResponse, _ isTransient: Bool, attempt number: Int, pause: () -> Duration
    ) -> Verdict {
        guard number < attempts, let condition = condition.value else {
            return isTransient ? .isRepeated(after: nil) : .isFinal
        }
        return condition(
            FailedAttempt(
                number: number, status: response.status, headers: response.headers,
                body: response.body.bytes ?? Data(), isTransient: isTransient, pause: pause()))
    }

    /// The same for an attempt that failed without a response.
    fileprivate func verdict(on error: ServiceError, attempt number: Int, pause: () -> Duration) -> Verdict {
        guard number < attempts, let condition = condition.value else { return .isRepeated(after: nil) }
        return condition(FailedAttempt(number: number, error: error, pause: pause()))
    }
}

extension Result where Success == HTTPResponse, Failure == ServiceError {
    fileprivate var timedOutAfterSending: Bool {
        if case .failure(.timedOut(let timeout)) = self { timeout.phase.comesAfterSending } else { false }
    }

    fileprivate var wasThrottled: Bool {
        if case .success(let response) = self { response.isThrottled } else { false }
    }

    /// Whether the connection ended before the server processed the request: servers close connections after a number
    /// of requests or a time, and with HTTP/2 that fails many calls at once. It says nothing about the health of the
    /// backend.
    fileprivate var wasTurnedAway: Bool {
        guard case .failure(.transport(let failure)) = self else { return false }
        return failure.kind == .reset && !failure.mayHaveReachedServer
    }
}
