#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension OAuth {
    /// Signs a user in on another device, such as a phone (RFC 8628): for programs on machines without a browser.
    ///
    ///     let token = try await oauth.signInOnAnotherDevice(scopes: ["read"]) { prompt in
    ///         print("Open \(prompt.address) and enter \(prompt.code)")
    ///     }
    ///
    /// Asks at the pace of the server whether the user has signed in, and goes on when the network or the server fails
    /// in between. Throws `.rejected` with the code `access_denied` if the user refuses, or `expired_token` if the
    /// server says that the code has expired, and `.timedOut` when its lifetime is over. Canceling the task ends the
    /// wait.
    ///
    /// - Parameters:
    ///   - scopes: The scopes of the token; if empty, the server's default.
    ///   - parameters: Further parameters of the first request.
    ///   - show: Shows the address and the code to the user. The wait begins when it returns.
    public func signInOnAnotherDevice(
        scopes: [String] = [], parameters: QueryItems = [:], show: (DevicePrompt) async throws -> Void
    ) async throws(ServiceError) -> Token {
        if app.id.isEmpty { throw .badSetting("the client id is empty") }
        let requested = requestedScopes(scopes, in: parameters)
        try checkIdentityScope(in: requested)
        try refuseStranger(namingItself: false)
        let scope = CallScope()
        let id = try signIns.begin(scope)
        defer { signIns.end(id) }
        let time = server.time
        let place = try server.place(of: metadata?.deviceAuthorizationEndpoint, named: "device authorization endpoint")
        let answer = try await post([:], scopes: scopes, parameters: parameters, to: place, as: DeviceAnswer.self)
            .reply.value
        let lifetime = Duration.seconds(answer.lifetime)
        let end = time.now.advanced(by: lifetime)
        let prompt = DevicePrompt(
            code: answer.userCode.printable, address: answer.address.absoluteString,
            completeAddress: answer.completeAddress?.absoluteString,
            expiry: time.date.addingTimeInterval(answer.lifetime))
        do {
            try await show(prompt)
        } catch {
            throw ServiceError(error) {
                .transport(TransportFailure(.other, "the prompt failed with \(foreignName(of: $0))"))
            }
        }
        let grant = Grant(
            "urn:ietf:params:oauth:grant-type:device_code", parameters: ["device_code": answer.deviceCode])
        var polls = DevicePolls(interval: .seconds(min(answer.interval, answer.lifetime)))
        var pause = polls.interval
        while true {
            // A poll after the end would only be told that it is too late.
            let next = time.now.advanced(by: pause)
            try await time.sleep(until: min(next, end), for: .sleeper("a sign-in on another device"), in: scope)
            guard next < end else { throw .timedOut(Timeout(.signIn, limit: lifetime, phase: .preparing)) }
            do throws(ServiceError) {
                return try await token(afterPoll: grant, scopes: requested)
            } catch {
                switch polls.next(after: error, interval: error.slowDownInterval) {
                case .poll(let wait): pause = wait
                case .fail(let error): throw error
                }
            }
        }
    }

    private func token(afterPoll grant: Grant, scopes: [String]) async throws(ServiceError) -> Token {
        // The polls are retries themselves.
        let issued = try await answer(to: grant, scopes: [], retry: .never, known: scopes)
        var token = try checked(issued, scopes: scopes)
        if token.scopes.isEmpty { token.scopes = scopes }
        return token
    }
}

extension ServiceError {
    /// The interval that came with `slow_down`; `nil` if there is none that is good.
    fileprivate var slowDownInterval: Duration? {
        guard case .rejected(let rejection) = self else { return nil }
        // Some servers refuse with a success, whose body has been read.
        if rejection.body.isEmpty { return rejection.retryAfter }
        let answer = try? rejection.decodeBody(as: OAuthAnswer.self)
        guard let interval = answer?.error?.interval, interval < 86_400 else { return nil }
        return .seconds(interval)
    }
}
