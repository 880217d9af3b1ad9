#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What the cache serves before the server has answered, and what it has sent beside the call then.
extension CacheLayer {
    /// Whether the request may be sent beside a call: a POST, even one that only reads, is sent by calls alone.
    static func canRefresh(_ request: HTTPRequest) -> Bool { request.method == .get || request.method == .query }

    /// Has a stale response confirmed or replaced, in a transmission without a call. Nothing begins while another
    /// refresh of the same place is under way (K12), unless it is needed all the same. Returns the transmission; `nil`
    /// if none has begun.
    @discardableResult
    func refresh(
        _ request: HTTPRequest, _ context: CallContext, _ finding: Finding, after pause: Duration = .zero,
        isNeeded: Bool = false, then ended: @escaping BackgroundSends.Ended = { _ in }
    ) -> Transmission? {
        guard Self.canRefresh(request) else { return nil }
        let isOnly = cache.beginRefresh(of: finding.key)
        guard isOnly || isNeeded else { return nil }
        var send = BackgroundSend(request, like: context)
        send.rules.cache.mode = .refresh
        send.pause = pause
        let transmission = background.start(send) { [cache] result in
            if isOnly { cache.endRefresh(of: finding.key) }
            ended(result)
        }
        if transmission == nil, isOnly { cache.endRefresh(of: finding.key) }
        return transmission
    }

    /// Returns what is stored if the first attempt has failed and it may be used (K5). The retries continue beside.
    @inline(never)
    func answer(
        insteadOf error: ServiceError, _ request: HTTPRequest, _ context: CallContext, _ finding: Finding
    ) -> HTTPResponse? {
        // A call that was stopped gets no answer.
        guard finding.usable != nil, error.isServersFailure, context.transmission.scope.reason == nil else {
            return nil
        }
        return answerAfterFailure(request, context, finding)
    }

    @inline(never)
    func answer(
        insteadOf response: HTTPResponse, _ request: HTTPRequest, _ context: CallContext, _ finding: Finding
    ) -> HTTPResponse? {
        guard [500, 502, 503, 504].contains(response.status), finding.usable != nil, !response.isFromCache else {
            return nil
        }
        return answerAfterFailure(request, context, finding)
    }

    private func answerAfterFailure(
        _ request: HTTPRequest, _ context: CallContext, _ finding: Finding
    ) -> HTTPResponse? {
        guard let stored = finding.usable, let age = ageIfUsable(stored, finding, at: context.time) else { return nil }
        if let pause = context.transmission.pause(after: context.attempts) {
            refresh(request, context, finding, after: pause)
        }
        return serve(stored, request, context, finding, .stale, age: age, because: .serverFailed)
    }

    /// Returns the age of what is stored if it may be used although the server has not answered; otherwise `nil`. What
    /// was removed while the request was on its way is not used.
    private func ageIfUsable(_ stored: StoredResponse, _ finding: Finding, at time: any TimeSource) -> Double? {
        guard !cache.hasRemoved(stored, at: finding.key, since: finding.position) else { return nil }
        return finding.inquiry.ageIfUsableOnFailure(stored, at: CacheMoment(of: time))
    }

    /// Sends the request beside the call, and waits for its response as long as the call wants to. Then, or if it
    /// fails, returns what is stored.
    ///
    /// Returns `nil` if nothing is stored that may be used: then the call sends its request itself.
    @inline(never)
    func answerInTime(
        to request: HTTPRequest, _ context: CallContext, _ finding: Finding
    ) async throws(ServiceError) -> HTTPResponse? {
        let (transmission, time) = (context.transmission, context.time)
        guard let limit = context.rules.cache.networkFirst, let stored = finding.usable, Self.canRefresh(request),
            ageIfUsable(stored, finding, at: time) != nil
        else { return nil }
        let promise = Promise<HTTPResponse?, ServiceError>()
        let beside = refresh(request, context, finding, isNeeded: true) { promise.complete($0.map(Optional.some)) }
        guard let beside else { return nil }
        // What it sends, the call has sent: its errors hide those secrets, and count those attempts (C90).
        transmission.follow(beside)
        let end = time.now.advanced(by: limit)
        let alarm = time.schedule(at: end, for: .watch("the end of the wait for the network")) {
            promise.complete(.success(nil))
        }
        defer { alarm.cancel() }
        var reason = CacheStatus.Reason.serverIsSlow
        do throws(ServiceError) {
            var response = try await transmission.run { (scope: CallScope) async throws(ServiceError) in
                try await promise.value(in: scope)
            }
            // It was retried, and sent again with another token, before it came here.
            if let status = response?.status, status < 500, !HTTPStatus.transient.contains(status) {
                response?.provenance.accessToken = nil
                return response
            }
            if response != nil { reason = .serverFailed }
        } catch {
            try transmission.throwIfStopped()
            guard error.isServersFailure else { throw error }
            reason = .serverFailed
        }
        guard let age = ageIfUsable(stored, finding, at: time) else { return nil }
        let kind = finding.inquiry.isFresh(stored, aged: age) ? CacheStatus.Kind.hit : .stale
        return serve(stored, request, context, finding, kind, age: age, because: reason)
    }
}

extension ServiceError {
    /// Whether the server could not be reached, or did not answer.
    fileprivate var isServersFailure: Bool {
        switch self {
        case .noInternetConnection, .transport: true
        case .timedOut(let timeout): timeout.bound == .attempt
        default: false
        }
    }
}
